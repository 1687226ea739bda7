SELECT pg_catalog.set_config('search_path', '', false);
CREATE EXTENSION IF NOT EXISTS simhash_dedup WITH SCHEMA public;
COMMENT ON EXTENSION simhash_dedup IS 'near-duplicate rows: SimHash fingerprints, Hamming distance and an exact index';
CREATE FUNCTION public.doc_fp() RETURNS trigger
    LANGUAGE plpgsql
    AS $$BEGIN NEW.fp := simhash64(NEW.body, '{"tf": "log", "dictionary": {"幸福路": "ns"}}', 's2'); RETURN NEW; END$$;
CREATE TABLE public.doc (
    id integer NOT NULL,
    tenant integer,
    body text,
    fp bigint,
    duplicate_of integer
);
CREATE TABLE public.doc_cluster (
    key integer NOT NULL,
    cluster_id integer NOT NULL
);
CREATE TABLE public.hash (
    id text NOT NULL,
    fp bigint
);
CREATE TABLE public.hash_cluster (
    key text NOT NULL,
    cluster_id text NOT NULL
);
CREATE TABLE public.hash_cluster_note (
    key text
);
ALTER TABLE ONLY public.hash_cluster_note REPLICA IDENTITY FULL;
COPY public.doc (id, tenant, body, fp, duplicate_of) FROM stdin;
1	1	the street lamp of number 1 is dark since week 0	6015665860174512959	\N
2	0	the street lamp of number 2 is dark since week 0	8244951927738446655	\N
3	1	the street lamp of number 3 is dark since week 0	8244671840038196031	\N
4	0	the street lamp of number 4 is dark since week 0	6627593417319031615	\N
5	1	the street lamp of number 5 is dark since week 0	5938261362565546815	\N
6	0	the street lamp of number 6 is dark since week 0	5943332112624288063	\N
7	1	the street lamp of number 7 is dark since week 0	6517254152572383551	\N
8	0	the street lamp of number 8 is dark since week 0	8313923488992010559	\N
9	1	the street lamp of number 0 is dark since week 1	6015665860174512959	\N
10	0	the street lamp of number 1 is dark since week 1	1383291430824577839	\N
11	1	the street lamp of number 2 is dark since week 1	8159238536724560687	\N
12	0	the street lamp of number 3 is dark since week 1	3709402012750977839	\N
13	1	the street lamp of number 4 is dark since week 1	6429998116679985983	\N
14	0	the street lamp of number 5 is dark since week 1	1403699466147793711	\N
15	1	the street lamp of number 6 is dark since week 1	1385685059048309039	\N
16	0	the street lamp of number 7 is dark since week 1	1743860893170807103	\N
17	1	the street lamp of number 8 is dark since week 1	3563048227725189439	\N
18	0	the street lamp of number 0 is dark since week 2	8244951927738446655	\N
19	1	the street lamp of number 1 is dark since week 2	8159238536724560687	\N
20	0	the street lamp of number 2 is dark since week 2	8224272313111427887	\N
21	1	the street lamp of number 3 is dark since week 2	8244531089732025135	3
22	0	the street lamp of number 4 is dark since week 2	8735840988586982207	\N
23	1	the street lamp of number 5 is dark since week 2	8244676087761025839	\N
24	0	the street lamp of number 6 is dark since week 2	8231160753460490543	\N
25	1	the street lamp of number 7 is dark since week 2	6355546765567209791	7
26	0	the street lamp of number 8 is dark since week 2	8170230509086253375	8
27	1	the street lamp of number 0 is dark since week 3	8244671840038196031	\N
28	0	the street lamp of number 1 is dark since week 3	3709402012750977839	10
29	1	the street lamp of number 2 is dark since week 3	8244531089732025135	\N
30	0	the street lamp of number 3 is dark since week 3	3918824210149153551	\N
31	1	the street lamp of number 4 is dark since week 3	8897689379236231999	13
32	0	the street lamp of number 5 is dark since week 3	3921211937020713775	14
33	1	the street lamp of number 6 is dark since week 3	3925719788732813583	\N
34	0	the street lamp of number 7 is dark since week 3	1887695847515500831	16
35	1	the street lamp of number 8 is dark since week 3	3990890608937148703	17
36	0	the street lamp of number 0 is dark since week 4	6627593417319031615	\N
37	1	the street lamp of number 1 is dark since week 4	6429998116679985983	19
38	0	the street lamp of number 2 is dark since week 4	8735840988586982207	\N
39	1	the street lamp of number 3 is dark since week 4	8897689379236231999	\N
40	0	the street lamp of number 4 is dark since week 4	6607045743885036351	4
41	1	the street lamp of number 5 is dark since week 4	6591283282630290239	\N
42	0	the street lamp of number 6 is dark since week 4	6573831696635273535	\N
43	1	the street lamp of number 7 is dark since week 4	6355125656908738879	7
44	0	the street lamp of number 8 is dark since week 4	8750772652846883135	8
45	1	the street lamp of number 0 is dark since week 5	5938261362565546815	9
46	0	the street lamp of number 1 is dark since week 5	1403699466147793711	10
47	1	the street lamp of number 2 is dark since week 5	8244676087761025839	29
48	0	the street lamp of number 3 is dark since week 5	3921211937020713775	12
49	1	the street lamp of number 4 is dark since week 5	6591283282630290239	13
50	0	the street lamp of number 5 is dark since week 5	1612562716435024687	32
51	1	the street lamp of number 6 is dark since week 5	1619872243966673199	15
52	0	the street lamp of number 7 is dark since week 5	1887273497611481407	34
53	1	the street lamp of number 8 is dark since week 5	3990467984155287871	17
54	0	the street lamp of number 0 is dark since week 6	5943332112624288063	\N
55	1	the street lamp of number 1 is dark since week 6	1385685059048309039	37
56	0	the street lamp of number 2 is dark since week 6	8231160753460490543	\N
57	1	the street lamp of number 3 is dark since week 6	3925719788732813583	\N
58	0	the street lamp of number 4 is dark since week 6	6573831696635273535	40
59	1	the street lamp of number 5 is dark since week 6	1619872243966673199	\N
60	0	the street lamp of number 6 is dark since week 6	1599610308465656079	\N
\.
COPY public.doc_cluster (key, cluster_id) FROM stdin;
1	1
2	2
3	1
4	4
5	1
6	6
7	7
8	8
9	1
10	10
11	11
12	10
13	11
14	10
15	11
16	16
17	17
18	2
19	11
21	1
22	22
23	1
24	24
25	7
26	8
27	1
28	10
29	1
30	10
31	11
32	10
33	11
34	16
35	17
36	4
37	11
38	22
39	11
40	4
41	11
42	4
43	7
44	8
45	1
46	10
47	1
48	10
49	11
50	10
51	11
52	16
53	17
54	6
55	11
56	24
57	11
58	4
59	11
\.
COPY public.hash (id, fp) FROM stdin;
k2	1973786
k3	2960677
k4	3947564
k5	4934507
k6	5921306
k7	128
k8	986639
k9	1973278
k15	1019663
k16	2039326
k17	3091757
k18	3685436
k19	4410187
k20	4872794
k21	2097152
k22	5181199
k23	10362398
k24	19737901
k25	37502012
k26	72043339
k27	140139098
k28	268435456
k29	537857807
k30	1075715614
k31	2150444333
k32	4298914876
k33	8594869067
k34	17185790554
k35	34359738368
k36	68720463631
k37	137440927262
k38	274880867629
k39	549759761468
k40	1099516562251
new	5
newer	7
\.
COPY public.hash_cluster (key, cluster_id) FROM stdin;
k1	k1
k10	k10
k11	k11
k12	k12
k13	k13
k14	k14
k15	k1
k16	k16
k17	k10
k18	k11
k19	k12
k2	k16
k20	k13
k21	k14
k22	k1
k23	k16
k24	k10
k25	k11
k26	k12
k27	k13
k28	k14
k29	k1
k3	k10
k30	k16
k31	k10
k32	k11
k33	k12
k34	k13
k35	k14
k36	k1
k37	k16
k38	k10
k39	k11
k4	k11
k40	k12
k5	k12
k6	k13
k7	k14
k8	k1
k9	k16
\.
COPY public.hash_cluster_note (key) FROM stdin;
k1
k10
k11
k12
k13
k14
new
newer
\.
ALTER TABLE ONLY public.doc_cluster
    ADD CONSTRAINT doc_cluster_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.doc
    ADD CONSTRAINT doc_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.hash_cluster
    ADD CONSTRAINT hash_cluster_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.hash
    ADD CONSTRAINT hash_fp_excl EXCLUDE USING simhash (fp WITH =);
ALTER TABLE ONLY public.hash
    ADD CONSTRAINT hash_pkey PRIMARY KEY (id);
CREATE INDEX doc_cluster_cluster_id_idx ON public.doc_cluster USING btree (cluster_id);
CREATE INDEX doc_fp ON public.doc USING simhash (tenant, fp) WITH (fillfactor='80');
CREATE INDEX hash_cluster_cluster_id_idx ON public.hash_cluster USING btree (cluster_id);
CREATE TRIGGER a_doc_fp BEFORE INSERT OR UPDATE ON public.doc FOR EACH ROW EXECUTE FUNCTION public.doc_fp();
CREATE TRIGGER doc_cluster_keep AFTER INSERT OR DELETE OR UPDATE ON public.doc FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=public.doc_cluster', 'key=id', 'fingerprint=fp', 'radius=8', 'within=tenant');
CREATE TRIGGER doc_cluster_truncate AFTER TRUNCATE ON public.doc FOR EACH STATEMENT EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=public.doc_cluster', 'key=id', 'fingerprint=fp', 'radius=8', 'within=tenant');
CREATE TRIGGER doc_duplicates BEFORE INSERT OR UPDATE ON public.doc FOR EACH ROW EXECUTE FUNCTION public.simhash_flag_duplicate('fingerprint=fp', 'radius=8', 'duplicate_of=duplicate_of', 'within=tenant', 'text=body');
CREATE TRIGGER hash_cluster_keep AFTER INSERT OR DELETE OR UPDATE ON public.hash FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=public.hash_cluster', 'key=id', 'fingerprint=fp', 'radius=2', 'notes=public.hash_cluster_note');
CREATE TRIGGER hash_cluster_truncate AFTER TRUNCATE ON public.hash FOR EACH STATEMENT EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=public.hash_cluster', 'key=id', 'fingerprint=fp', 'radius=2', 'notes=public.hash_cluster_note');
