//! What ProxySQL's work on rules costs; `cargo xtask bench patterns --write-prices` writes this file.

use crate::prices::{PatternPrices, Prices};

/// ProxySQL version 2.7.1-0-gbuild, codename Truls, with client and proxy on one core. Columns: about 10 and 150 bytes of text, 2 KB, 1 MB.
pub(crate) const PROXYSQL_PRICES: Prices = Prices {
    pcre: PatternPrices([
        [178.7, 320.8, 3761.3, 1635283.0],    // complete text
        [132.4, 234.6, 2629.0, 1125411.0],    // usual statement
        [530.0, 686.0, 1237.2, 171396.2],     // annotations
        [34.8, 89.0, 719.4, 228340.8],        // hint in a comment
        [73.8, 70.4, 98.2, 0.0],              // key word
        [316.4, 154.0, 164.7, 0.0],           // key in a comment
        [74.8, 404.3, 405.0, 0.0],            // doubtful key
        [161.1, 658.4, 5476.7, 2363112.8],    // second key
        [231.6, 344.7, 883.4, 405538.2],      // another key
        [99.4, 101.9, 118.0, 0.0],            // values of a key
        [321.8, 825.6, 628.2, 10883.8],       // statement with a key column
        [33.3, 543.7, 3736.4, 1750478.2],     // logical schema behind a quote
        [40.8, 215.2, 623.3, 312783.5],       // rewritten schema
        [259.8, 565.3, 5071.7, 2327845.2],    // quoted call
        [464.6, 1086.2, 18074.7, 8062600.0],  // read or setup
        [146.9, 165.0, 193.4, 16534.5],       // other statement
        [118.1, 132.0, 152.3, 0.0],           // first word
        [39.7, 18.7, 62.5, 0.0],              // start of the text
        [36.0, 167.9, 1445.0, 563551.8],      // anchored, to the end
        [48.4, 196.6, 1706.0, 1205694.5],     // search by a letter
        [317.7, 2352.1, 23220.7, 21046178.8], // search at each byte
    ]),
    re2: PatternPrices([
        [94.8, 280.6, 3176.7, 1416802.0],   // complete text
        [136.8, 300.5, 3215.2, 1273862.8],  // usual statement
        [140.4, 157.2, 732.1, 136372.2],    // annotations
        [93.5, 76.1, 149.0, 0.0],           // hint in a comment
        [89.9, 77.3, 107.3, 0.0],           // key word
        [210.8, 159.9, 164.3, 0.0],         // key in a comment
        [117.0, 100.9, 112.9, 0.0],         // doubtful key
        [112.9, 293.2, 3236.0, 1314508.5],  // second key
        [123.2, 118.3, 106.3, 0.0],         // another key
        [131.4, 316.2, 3313.6, 1401672.2],  // values of a key
        [267.6, 469.4, 270.6, 0.0],         // statement with a key column
        [125.2, 304.0, 3294.7, 1354201.2],  // logical schema behind a quote
        [87.5, 273.8, 3236.8, 1253013.2],   // rewritten schema
        [97.2, 274.1, 3133.2, 1253472.8],   // quoted call
        [262.9, 1240.2, 3447.5, 1337143.5], // read or setup
        [145.5, 107.3, 110.0, 0.0],         // other statement
        [118.4, 98.7, 107.8, 0.0],          // first word
        [32.2, 39.8, 62.5, 0.0],            // start of the text
        [84.4, 267.5, 3141.6, 1190991.2],   // anchored, to the end
        [100.4, 288.9, 3279.5, 1351131.8],  // search by a letter
        [81.4, 297.9, 3246.2, 1225298.5],   // search at each byte
    ]),
    visit_ns: 4.6,
    lookup_ns: 40.0,
};
