//! What the types of an execution are to MySQL, which resolves a parameter by them.

use shardwright_wire::ColumnType as T;

use crate::backend_statements::Bound;

/// Kinds of the types of parameters, two bytes each. A NULL has none, whatever its type is.
pub(super) fn bound_kinds<'a>(
    types: &'a [u8],
    null_bitmap: &'a [u8],
) -> impl Iterator<Item = u8> + Clone + 'a {
    types.chunks_exact(2).enumerate().map(|(at, pair)| {
        let byte = null_bitmap.get(at / 8);
        match byte.is_some_and(|byte| byte >> (at % 8) & 1 == 1) {
            true => Bound::ANY,
            false => kind(pair[0], pair[1] & 0x80 != 0),
        }
    })
}

/// Types that are the same to MySQL have the same kind: the others stand for themselves.
fn kind(column_type: u8, is_unsigned: bool) -> u8 {
    let first = match T::try_from(column_type) {
        Ok(
            T::MYSQL_TYPE_TINY
            | T::MYSQL_TYPE_SHORT
            | T::MYSQL_TYPE_INT24
            | T::MYSQL_TYPE_LONG
            | T::MYSQL_TYPE_LONGLONG,
        ) => match is_unsigned {
            true => return u8::MAX,
            false => T::MYSQL_TYPE_LONGLONG,
        },
        Ok(T::MYSQL_TYPE_FLOAT | T::MYSQL_TYPE_DOUBLE) => T::MYSQL_TYPE_DOUBLE,
        Ok(T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL) => T::MYSQL_TYPE_NEWDECIMAL,
        Ok(T::MYSQL_TYPE_VARCHAR | T::MYSQL_TYPE_VAR_STRING | T::MYSQL_TYPE_STRING) => T::MYSQL_TYPE_STRING,
        Ok(
            T::MYSQL_TYPE_TINY_BLOB
            | T::MYSQL_TYPE_MEDIUM_BLOB
            | T::MYSQL_TYPE_LONG_BLOB
            | T::MYSQL_TYPE_BLOB,
        ) => T::MYSQL_TYPE_BLOB,
        Ok(T::MYSQL_TYPE_NULL) => return Bound::ANY,
        _ => return column_type,
    };
    first as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_one_kind_are_alike_and_a_null_has_none() {
        let of =
            |pairs: &[[u8; 2]], nulls: u8| -> Vec<u8> { bound_kinds(&pairs.concat(), &[nulls]).collect() };
        let [tiny, long, double, float, text] = [
            T::MYSQL_TYPE_TINY,
            T::MYSQL_TYPE_LONGLONG,
            T::MYSQL_TYPE_DOUBLE,
            T::MYSQL_TYPE_FLOAT,
            T::MYSQL_TYPE_VAR_STRING,
        ]
        .map(|one| one as u8);
        let kinds = of(
            &[
                [tiny, 0],
                [long, 0],
                [tiny, 0x80],
                [float, 0],
                [double, 0],
                [text, 0],
                [text, 0],
            ],
            1 << 6,
        );
        assert_eq!(kinds[0], kinds[1]);
        assert_ne!(kinds[0], kinds[2]);
        assert_eq!(kinds[3], kinds[4]);
        assert_ne!(kinds[4], kinds[5]);
        assert_eq!(kinds[6], Bound::ANY);
    }
}
