CREATE INDEX ON t ((((fp >> 48) & 65535)::int4)) INCLUDE (fp, id);
CREATE INDEX ON t ((((fp >> 32) & 65535)::int4)) INCLUDE (fp, id);
CREATE INDEX ON t ((((fp >> 16) & 65535)::int4)) INCLUDE (fp, id);
CREATE INDEX ON t (((fp & 65535)::int4)) INCLUDE (fp, id);
