"""Statements by psql (PSQL) at the server of the PG* variables; measure.py and titles.py use it."""

import csv
import io
import os
import re
import subprocess


def psql(*commands):
    """Runs the commands in one session; what they print, and what the server says."""
    arguments = [argument for command in commands for argument in ("-c", command)]
    program = [os.environ.get("PSQL", "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1"]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout, done.stderr


def server(query, *settings):
    """(rows, seconds of the backend's processor time, its peak memory in MB), by what the server says of the statement."""
    said = "SET log_statement_stats = on", "SET client_min_messages = log"
    rows, usage = psql(*settings, *said, f"COPY ({query}) TO STDOUT CSV")
    user, system = re.findall(r"!\s+([\d.]+) s user, ([\d.]+) s system", usage)[-1]
    peak = re.findall(r"(\d+) kB max resident", usage)[-1]
    return list(csv.reader(io.StringIO(rows))), float(user) + float(system), int(peak) / 1024
