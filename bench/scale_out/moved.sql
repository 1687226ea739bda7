-- Rows of `keyed` that were stored on another worker than the row of `doc` that they stand for, and pairs, which are what moves to the
-- coordinator. Variable: k.
WITH place AS (
	SELECT p.shardid, s.logicalrelid, p.groupid FROM pg_dist_placement AS p JOIN pg_dist_shard AS s USING (shardid)
), stored AS (
	SELECT get_shard_id_for_distribution_column('keyed', key) AS keyed, get_shard_id_for_distribution_column('doc', id) AS doc
	FROM whole, unnest(simhash_route(fp, :k)) AS key
)
SELECT count(*), count(*) FILTER (WHERE a.groupid <> b.groupid), (SELECT count(*) FROM simhash_pairs('whole', 'id', 'fp', :k))
FROM stored JOIN place AS a ON a.shardid = keyed JOIN place AS b ON b.shardid = doc;
