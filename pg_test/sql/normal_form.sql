-- One normal form of texts: what it makes one of what, and that every function has the same one.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE TEMP TABLE pair (what text, a text, b text);
INSERT INTO pair VALUES
	('German capitals', 'Große Straße 5, Gießen: der Fußweg ist außer Betrieb', 'GROSSE STRASSE 5, GIESSEN: DER FUSSWEG IST AUSSER BETRIEB'),
	('Greek capitals', 'όλοι οι δρόμοι της πόλης έχουν λακκούβες', 'ΟΛΟΙ ΟΙ ΔΡΟΜΟΙ ΤΗΣ ΠΟΛΗΣ ΕΧΟΥΝ ΛΑΚΚΟΥΒΕΣ'),
	('Turkish capitals', 'Diyarbakır Isparta yolunda ışıklar yanmıyor', 'DİYARBAKIR ISPARTA YOLUNDA IŞIKLAR YANMIYOR'),
	('accents', 'José García Muñoz, Łukasz Śliwiński, Søren Ødegård', 'Jose Garcia Munoz, Lukasz Sliwinski, Soren Odegard'),
	('Vietnamese', 'hệ thống thoát nước ở dãy hàng cá đã tắc', 'he thong thoat nuoc o day hang ca da tac'),
	('decomposed', 'Für nächste Woche', U&'Fu\0308r na\0308chste Woche'),
	('soft hyphens', 'repair the elevator', U&'re\00ADpair the ele\00ADva\00ADtor\FEFF'),
	('ligatures', 'the official office staff', 'the oﬃcial oﬃce staﬀ'),
	('apostrophes', 'the driver''s bus didn''t stop', 'the driver’s bus didnʼt stop'),
	('Persian', 'چراغ خیابان ۱۲۳۴۵ را تعمیر کنید', 'چراغ خيابان 12345 را تعمير كنيد'),
	('Arabic', 'أرجو إصلاح المصعد على الفور', 'ارجو اصلاح المصـــعد علي الفَوْرِ'),
	('Hebrew', 'שעת סיפור לילדים', 'שְׁעַת סִיפּוּר לִילָדִים'),
	('radicals', '车门和马路边的食品店', '⻋门和⻢路边的⻝品店'),
	('half-width', 'プリンターのドライバー', 'ﾌﾟﾘﾝﾀｰのﾄﾞﾗｲﾊﾞｰ'),
	('letters stay', 'мой їжак', 'мои іжак');

SELECT what, simhash64(a) <~> simhash64(b) AS bare,
	simhash64(a, preset => 'minwise') <~> simhash64(b, preset => 'minwise') AS minwise,
	simhash64(a, preset => 'words') <~> simhash64(b, preset => 'words') AS words,
	simhash64(ROW(a), preset => 'record') <~> simhash64(ROW(b), preset => 'record') AS record,
	simhash_jaccard(a, b) AS jaccard, simhash_containment(a, b) AS containment,
	ARRAY(SELECT feature FROM simhash_features(a, preset => 'plain') ORDER BY 1) = ARRAY(SELECT feature FROM simhash_features(b, preset => 'plain') ORDER BY 1) AS terms,
	simhash_passages(a, 8) = simhash_passages(b, 8) AS passages
FROM pair;

-- Accents that count.
SELECT simhash64('Été', '{"normalize": "keep_accents"}') = simhash64('été', '{"normalize": "keep_accents"}') AS of_case,
	simhash64('Été', '{"normalize": "keep_accents"}') = simhash64('ete') AS of_accents,
	simhash64('Été', '{"normalize": "fold"}') = simhash64('ete') AS folded;
SELECT column_name, feature FROM simhash_features(ROW('Où est le café', 'où'),
	'{"$columns": ["a", "b"], "a": {"normalize": "keep_accents", "stop_words": ["OÙ"], "dictionary": ["le café"]}, "b": 1}', 'minwise')
ORDER BY 1, 2;

-- Words and markup.
SELECT array_agg(feature ORDER BY feature) FROM simhash_features('re&shy;pair re<wbr>pair Caf&eacute;', '{"markup": "html"}', 'words');

-- Texts of symbols alone, and of white space.
SELECT what, simhash64(text) IS NULL AS bare, simhash64(text, preset => 'words') IS NULL AS words,
	simhash64(ROW(text), preset => 'record') IS NULL AS record, simhash_jaccard(text, text)
FROM (VALUES ('emoji', '🔥🔥💰💰💰 ➡️'), ('signs', '☎ ★★★ ---===>>> $$$ !!!'), ('hyphen', '-'), ('blank', ' '),
	('invisible', U&'\3000\200B\00AD'), ('empty', '')) AS symbols (what, text);
SELECT simhash64('🔥🔥💰') <~> simhash64('🔥 🔥 💰') AS same, simhash64('🔥🔥💰') <~> simhash64('👍👍👍') > 10 AS others,
	simhash_jaccard('🔥🔥💰', '👍') AS jaccard;
SELECT feature FROM simhash_features('★ ☎ ★', preset => 'plain') ORDER BY 1;

-- Pairs of records.
CREATE TEMP TABLE member (id int PRIMARY KEY, name text);
INSERT INTO member VALUES (1, 'José García Muñoz'), (2, 'Jose Garcia Munoz'), (3, 'Łukasz Śliwiński'), (4, 'Lukasz Sliwinski'),
	(5, 'Nguyễn Thị Hồng'), (6, 'Nguyen Thi Hong'), (7, 'Anna Lind'), (8, 'Piotr Zajac'), (9, 'Chen Wei'), (10, 'Olga Petrova');
SELECT a, b, similarity FROM simhash_record_pairs('member', 'id', 0.9) ORDER BY 1;
