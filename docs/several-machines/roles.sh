#!/bin/bash
# Runs once, when the database is made: the role of the gateways, which owns the schema assistant and nothing else.
set -euo pipefail
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\set password `cat "${STORE_PASSWORD_FILE:-/run/secrets/store_password}"`
CREATE ROLE assistant LOGIN PASSWORD :'password';
CREATE SCHEMA assistant AUTHORIZATION assistant;
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"DBNAME" TO assistant;
SQL
