-- What belongs to the extension, one line for each object and for each part of one, with all that its catalogs say and
-- an update script could forget. Numbers of objects are replaced by names: the lines of two databases can be compared.
WITH ours AS (
	SELECT oid, extversion FROM pg_extension WHERE extname = 'simhash_dedup'
), member AS (
	SELECT d.classid, d.objid, (pg_identify_object(d.classid, d.objid, 0)).* FROM pg_depend d, ours
	WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = ours.oid AND d.deptype = 'e'
), part AS (
	SELECT type AS kind, identity, 'is a member' AS says FROM member
	UNION ALL
	SELECT type, identity, 'comment ' || quote_nullable(obj_description(objid, classid::regclass::text::name)) FROM member
	UNION ALL
	SELECT m.type, m.identity, format('initial privileges of %s: %s', p.objsubid,
		(SELECT array_agg(a::text ORDER BY a::text) FROM unnest(p.initprivs) a))
	FROM member m JOIN pg_init_privs p ON p.classoid = m.classid AND p.objoid = m.objid
	UNION ALL
	SELECT 'extension', 'simhash_dedup', (to_jsonb(e) - '{oid, extversion, extowner, extnamespace, extconfig}'::text[]
		|| jsonb_build_object('version', e.extversion, 'schema', e.extnamespace::regnamespace,
			'configuration', (SELECT array_agg(c::oid::regclass::text) FROM unnest(e.extconfig) c)))::text
	FROM pg_extension e JOIN ours USING (oid)
	UNION ALL
	SELECT m.type, m.identity, (to_jsonb(n) - '{oid, nspowner}'::text[] || jsonb_build_object('owner', nspowner::regrole))::text
	FROM member m JOIN pg_namespace n ON m.classid = 'pg_namespace'::regclass AND n.oid = m.objid
	UNION ALL
	SELECT m.type, m.identity, format('%s, owner %s, rights %s, %s', p.prokind, p.proowner::regrole, p.proacl,
		CASE WHEN p.prokind = 'a' THEN to_jsonb(a)::text ELSE pg_get_functiondef(p.oid) END)
	FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid LEFT JOIN pg_aggregate a ON a.aggfnoid = p.oid
	UNION ALL
	SELECT m.type, m.identity, (to_jsonb(o) - '{oid, oprnamespace, oprowner, oprleft, oprright, oprresult, oprcom, oprnegate}'::text[]
		|| jsonb_build_object('owner', oprowner::regrole, 'result', oprresult::regtype, 'commutator', oprcom::regoperator,
			'negator', oprnegate::regoperator))::text
	FROM member m JOIN pg_operator o ON m.classid = 'pg_operator'::regclass AND o.oid = m.objid
	UNION ALL
	SELECT m.type, m.identity, format('owner %s, family %s, default %s, input %s, stores %s', opcowner::regrole, opfname, opcdefault,
		opcintype::regtype, opckeytype::regtype)
	FROM member m JOIN pg_opclass c ON m.classid = 'pg_opclass'::regclass AND c.oid = m.objid JOIN pg_opfamily f ON f.oid = opcfamily
	UNION ALL
	SELECT m.type, m.identity, format('owner %s', opfowner::regrole)
	FROM member m JOIN pg_opfamily f ON m.classid = 'pg_opfamily'::regclass AND f.oid = m.objid
	UNION ALL
	SELECT m.type, m.identity, pg_describe_object('pg_amop'::regclass, a.oid, 0)
	FROM member m JOIN pg_amop a ON m.classid = 'pg_opfamily'::regclass AND a.amopfamily = m.objid
	UNION ALL
	SELECT m.type, m.identity, pg_describe_object('pg_amproc'::regclass, a.oid, 0)
	FROM member m JOIN pg_amproc a ON m.classid = 'pg_opfamily'::regclass AND a.amprocfamily = m.objid
	UNION ALL
	SELECT m.type, m.identity, (to_jsonb(a) - 'oid')::text FROM member m JOIN pg_am a ON m.classid = 'pg_am'::regclass AND a.oid = m.objid
	UNION ALL
	SELECT m.type, m.identity, format('from %s to %s by %s, %s, %s', castsource::regtype, casttarget::regtype, castfunc::regprocedure,
		castcontext, castmethod)
	FROM member m JOIN pg_cast c ON m.classid = 'pg_cast'::regclass AND c.oid = m.objid
	UNION ALL
	SELECT m.type, m.identity, (to_jsonb(t) - '{oid, typnamespace, typowner, typrelid, typelem, typarray, typbasetype, typcollation}'::text[]
		|| jsonb_build_object('owner', typowner::regrole, 'of', typrelid::regclass, 'element', typelem::regtype, 'array', typarray::regtype,
			'base', typbasetype::regtype, 'collation', typcollation::regcollation))::text
	FROM member m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
	UNION ALL
	SELECT m.type, m.identity, format('%s, owner %s, rights %s, %s, %s, row security %s %s, view %s', relkind, relowner::regrole,
		(SELECT array_agg(a::text ORDER BY a::text) FROM unnest(relacl) a), relpersistence, reloptions, relrowsecurity,
		relforcerowsecurity, CASE WHEN relkind = 'v' THEN pg_get_viewdef(c.oid) END)
	FROM member m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
	UNION ALL
	SELECT m.type, m.identity, format('column %s is %s, %s, not null %s, default %s, %s, rights %s, comment %L', row_number() OVER w,
		attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), concat(attidentity, attgenerated, attstorage),
		attacl, col_description(attrelid, attnum))
	FROM member m JOIN pg_attribute a ON m.classid = 'pg_class'::regclass AND attrelid = m.objid AND attnum > 0 AND NOT attisdropped
		LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
	WINDOW w AS (PARTITION BY attrelid ORDER BY attnum)
	UNION ALL
	SELECT m.type, m.identity, format('constraint %s: %s', conname, pg_get_constraintdef(c.oid))
	FROM member m JOIN pg_constraint c ON m.classid = 'pg_class'::regclass AND conrelid = m.objid
	UNION ALL
	SELECT m.type, m.identity, format('index %s', pg_get_indexdef(indexrelid))
	FROM member m JOIN pg_index i ON m.classid = 'pg_class'::regclass AND indrelid = m.objid
	UNION ALL
	SELECT m.type, m.identity, format('trigger %s, %s', pg_get_triggerdef(t.oid), tgenabled)
	FROM member m JOIN pg_trigger t ON m.classid = 'pg_class'::regclass AND tgrelid = m.objid AND NOT tgisinternal
)
SELECT replace(kind || ' ' || identity || ': ' || says, E'\n', ' ') FROM part ORDER BY 1;
