CREATE INDEX t_simhash ON t USING simhash (fp);
