SELECT :q::bigint LIMIT 0;
