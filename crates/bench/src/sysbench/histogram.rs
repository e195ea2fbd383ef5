//! Latencies as `sysbench --histogram` prints them.

/// Numbers of events by their latency in milliseconds, ascending. A bucket is about a fiftieth wider than the one before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram(Vec<(f64, u64)>);

impl Histogram {
    /// Reads lines such as `       0.123 |****           12`; what is no such line is left out.
    #[must_use]
    pub fn parse(output: &str) -> Self {
        let bucket = |line: &str| {
            let (value, rest) = line.split_once('|')?;
            Some((
                value.trim().parse().ok()?,
                rest.split_whitespace().last()?.parse().ok()?,
            ))
        };
        Self(output.lines().filter_map(bucket).collect())
    }

    /// The latency in milliseconds that a share of the events (0 to 1) does not exceed; `None` without events.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let total: u64 = self.0.iter().map(|(_, count)| count).sum();
        let mut left = ((total as f64 * share).ceil() as u64).max(1);
        let reached = self.0.iter().find(|(_, count)| {
            left = left.saturating_sub(*count);
            left == 0
        });
        reached.map(|(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_come_from_the_histogram() {
        let output = "Latency histogram (values are in milliseconds)\n       value  ------------- distribution ------------- count\n       \
                      1.000 |****************************************  98\n       2.500 |*                                         1\n       \
                      9.000 |*                                         1\n \nSQL statistics:\n";
        let histogram = Histogram::parse(output);
        let percentiles = [0.0, 0.5, 0.98, 0.99, 0.999].map(|share| histogram.percentile(share));
        assert_eq!(percentiles, [1.0, 1.0, 1.0, 2.5, 9.0].map(Some));
        assert_eq!(Histogram::parse("FATAL: unable to connect").percentile(0.5), None);
    }
}
