SELECT id FROM t WHERE fp <~> :q <= 8;
