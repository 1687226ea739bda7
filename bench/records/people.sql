-- Run by cost.py: people made of the 5,000 rows of febrl3 (the table person), people.copies times as many.
-- Copy k takes each column from another row, at a distance that differs from column to column, and shifts the digits of the
-- numbers, so that names and places repeat and rows do not. Nothing is drawn: each run has the same rows.
CREATE TABLE people AS
SELECT (k * 5000 + n)::int AS id, c.given_name, d.surname, translate(e.street_number, '0123456789', digits) AS street_number,
	e.address_1, f.address_2, g.suburb, g.postcode, g.state, translate(c.date_of_birth, '0123456789', digits) AS date_of_birth,
	concat(CASE WHEN k % 20 < 10 THEN moved ELSE reverse(moved) END, nullif(k / 20, 0)) AS soc_sec_id
FROM generate_series(0, current_setting('people.copies')::int - 1) AS k
CROSS JOIN generate_series(0, 4999) AS n
CROSS JOIN LATERAL (SELECT substr('01234567890123456789', 1 + k % 10, 10) AS digits) AS shift
JOIN person AS c ON c.id = 1 + (n + 17 * k) % 5000
JOIN person AS d ON d.id = 1 + (n + 31 * k) % 5000
JOIN person AS e ON e.id = 1 + (n + 67 * k) % 5000
JOIN person AS f ON f.id = 1 + (n + 127 * k) % 5000
JOIN person AS g ON g.id = 1 + (n + 257 * k) % 5000
CROSS JOIN LATERAL (SELECT translate(c.soc_sec_id, '0123456789', digits) AS moved) AS number;
ANALYZE people;
