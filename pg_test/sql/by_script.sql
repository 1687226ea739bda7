-- Texts are compared by n-grams whose length depends on the script: a Han character says as much as two or three letters.
CREATE SCHEMA by_script;
SET search_path = by_script, public;

-- One wrong character in a Chinese petition of thirty: each is marked, and in a cluster with the right one.
CREATE TABLE petition (id int PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED, duplicate_of int);
CREATE INDEX ON petition USING simhash (fp);
CREATE TRIGGER petition_duplicates BEFORE INSERT OR UPDATE ON petition FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=10', 'text=body', 'min_jaccard=0.8', 'duplicate_of=duplicate_of');
INSERT INTO petition (id, body) VALUES
	(1, '请尽快修好人民路十八号小区门口的路灯，晚上太黑老人出行很不安全。'),
	(2, '星期六早上六点楼下工地就开始打桩，全楼居民无法休息，请有关部门管一管。'),
	(3, '菜市场南门的公交站牌被货车撞倒两个月了，至今没有人来扶正，请予处理。'),
	(4, '河东小学门前没有斑马线，孩子过马路非常危险，希望尽快划线并安装护栏。'),
	(11, '请尽快修好人民路十八号小区门囗的路灯，晚上太黑老人出行很不安全。'),
	(12, '星期六早上六点楼下工地就开始打粧，全楼居民无法休息，请有关部门管一管。'),
	(13, '菜市场南门的公交站牌被貨车撞倒两个月了，至今没有人来扶正，请予处理。'),
	(14, '河东小学门前没有斑马线，孩子过马路非常危险，希望尽快画线并安装护栏。');
SELECT b.id, b.duplicate_of, round(simhash_jaccard(a.body, b.body)::numeric, 2) AS jaccard,
	round(simhash_jaccard(a.body, b.body, 5)::numeric, 2) AS of_five
FROM petition a JOIN petition b ON b.id = a.id + 10 ORDER BY 1;
SELECT cluster_id, array_agg(key ORDER BY key) FROM simhash_clusters('petition', 'id', 'fp', 10, text => 'body', min_jaccard => 0.8) GROUP BY 1 ORDER BY 1;
-- A length that is given is that of all scripts.
SELECT simhash_jaccard('路灯坏了', '路灯没了') AS two, simhash_jaccard('路灯坏了', '路灯没了', 1) AS one,
	simhash_jaccard('あいうえ', 'あいう') AS kana, simhash_jaccard('가나다라', '가나다') AS hangul, simhash_jaccard('abcdef', 'abcdeg') AS latin;
SELECT simhash_jaccard(NULL, 'a'), simhash_jaccard('a', NULL), simhash_jaccard('a', 'a', NULL), simhash_jaccard('-', '');

-- A sentence of 23 characters that another letter quotes is a passage.
CREATE TABLE letter (id int PRIMARY KEY, body text);
INSERT INTO letter VALUES
	(1, '尊敬的领导，我家住在幸福路。物业公司从去年三月起就不再清理楼道垃圾，夏天臭气熏天。请您派人调查，谢谢。'),
	(2, '网友发帖称，物业公司从去年三月起就不再清理楼道垃圾，夏天臭气熏天，引起附近居民的强烈不满和媒体关注。'),
	(3, '图书馆每天下午五点关门，上班族根本没有时间去借书，希望延长开放时间。');
SELECT a.id, b.id, p.* FROM letter a JOIN letter b ON a.id < b.id CROSS JOIN simhash_shared_passages(a.body, b.body) p;
SELECT a.id, b.id, round(simhash_containment(a.body, b.body)::numeric, 2) AS contained
FROM letter a JOIN letter b ON a.id < b.id AND simhash_passages(a.body) && simhash_passages(b.body);
SELECT count(*) FROM letter a JOIN letter b ON a.id < b.id AND simhash_passages(a.body, 12, 40) && simhash_passages(b.body, 12, 40);
-- Texts of an alphabet have the passages that these numbers give.
SELECT simhash_passages(body) = simhash_passages(body, 12, 40) AS same
FROM (SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, 9) i) t (body);
SELECT simhash_passages(NULL), simhash_containment('a', NULL);
SELECT * FROM simhash_shared_passages(NULL, 'a');

-- A phrase that is shorter than an n-gram is looked for as a whole.
SELECT simhash_containment('out of order', 'The lift is out of order since Friday, please repair it.') AS phrase,
	simhash_containment('路灯坏了', '幸福路12号门前的路灯坏了两个星期，请尽快修理。') AS chinese,
	simhash_containment('幸福路12号门前的路灯坏了两个星期，请尽快修理。', '灯坏') AS reversed,
	simhash_containment('out of ardor', 'The lift is out of order since Friday, please repair it.') AS another;

SET client_min_messages = warning;
DROP SCHEMA by_script CASCADE;
