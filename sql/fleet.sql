-- The budgets of a fleet, for PostgreSQL 13 or newer. docs/fleet.md says how to use them.
--
--     psql -v ON_ERROR_STOP=1 -d <database> -f fleet.sql
--
-- Run it as the owner of the database who may create roles, as often as you like: it keeps every budget. It makes the
-- schema pi_turn_limit and two roles that cannot log in. Grant them to those that do:
--
--     pi_turn_limit_agent     joins budgets and spends of them; it cannot raise, reset or delete one
--     pi_turn_limit_operator  reads, sets, raises, resets and deletes budgets
--
-- Neither has rights on the tables. The functions below run with their owner's rights and check what they are given.
-- Amounts are whole numbers; cost is in millionths of a dollar inside, and in dollars where an operator sees it.

BEGIN;

DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'pi_turn_limit_agent') THEN
		CREATE ROLE pi_turn_limit_agent NOLOGIN;
	END IF;
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'pi_turn_limit_operator') THEN
		CREATE ROLE pi_turn_limit_operator NOLOGIN;
	END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS pi_turn_limit;
SET LOCAL search_path = pg_catalog, pi_turn_limit;
-- Agents that work meanwhile wait for this file no longer than for one another.
SET LOCAL lock_timeout = '2s';

CREATE TABLE IF NOT EXISTS pi_turn_limit.setup (version integer NOT NULL);

DO $$
BEGIN
	IF EXISTS (SELECT FROM setup WHERE version > 1) THEN
		RAISE EXCEPTION 'pi_turn_limit was set up by a newer fleet.sql than this one.';
	END IF;
END $$;

DELETE FROM setup;
INSERT INTO setup VALUES (1);

-- caps: the creator's, by meter; null if nobody has joined.
CREATE TABLE IF NOT EXISTS pi_turn_limit.account (
	key text PRIMARY KEY,
	caps jsonb,
	touched bigint NOT NULL
);

-- ends: for an account of a day, a week or a month that an agent has made, when this is over in every zone.
ALTER TABLE pi_turn_limit.account ADD COLUMN IF NOT EXISTS ends bigint;

-- The key without the day, the week or the month that it ends with. Of one budget, keys of the same length are of one kind.
CREATE OR REPLACE FUNCTION pi_turn_limit.budget_of(key text) RETURNS text LANGUAGE sql IMMUTABLE
AS $$ SELECT regexp_replace(key, ' [0-9]{4}-([0-9]{2}-[0-9]{2}|W?[0-9]{2})$', '') $$;
CREATE INDEX IF NOT EXISTS account_by_budget ON pi_turn_limit.account (budget_of(key), length(key), ends);

-- Accounts that nobody could list or delete.
DELETE FROM account WHERE NOT starts_with(key, 'fleet ');

-- held: the sum of all holds, also of those that have lapsed; holds: how many they are.
-- counted: false for a row that only holds have made, which is gone with them for those who read it.
CREATE TABLE IF NOT EXISTS pi_turn_limit.meter (
	key text NOT NULL REFERENCES pi_turn_limit.account ON DELETE CASCADE,
	meter text NOT NULL,
	used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
	held bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
	granted bigint NOT NULL DEFAULT 0 CHECK (granted >= 0),
	holds integer NOT NULL DEFAULT 0 CHECK (holds >= 0),
	counted boolean NOT NULL DEFAULT false,
	PRIMARY KEY (key, meter)
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS pi_turn_limit.hold (
	id text NOT NULL,
	key text NOT NULL REFERENCES pi_turn_limit.account ON DELETE CASCADE,
	meter text NOT NULL,
	amount bigint NOT NULL CHECK (amount >= 0),
	until bigint NOT NULL,
	PRIMARY KEY (id, key, meter)
);
CREATE INDEX IF NOT EXISTS hold_by_lapse ON pi_turn_limit.hold (key, until);

-- Ids that have been settled, or have granted; kept for a week.
CREATE TABLE IF NOT EXISTS pi_turn_limit.done (
	id text PRIMARY KEY,
	at bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS done_by_age ON pi_turn_limit.done (at);

CREATE OR REPLACE FUNCTION pi_turn_limit.version() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
AS $$ SELECT version FROM setup $$;

-- The ledger's clock, in milliseconds.
CREATE OR REPLACE FUNCTION pi_turn_limit.clock() RETURNS bigint LANGUAGE sql VOLATILE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.misuse(what text) RETURNS void LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION '%', what USING ERRCODE = 'invalid_parameter_value'; END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.check_amount(what text, amount jsonb) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	IF jsonb_typeof(amount) IS DISTINCT FROM 'number' THEN
		PERFORM misuse(what || ': expected whole numbers from 0 to 1000000000000.');
	END IF;
	IF amount::numeric NOT BETWEEN 0 AND 1000000000000 OR amount::numeric <> trunc(amount::numeric) THEN
		PERFORM misuse(what || ': expected whole numbers from 0 to 1000000000000.');
	END IF;
END $$;

-- Other meters would burden every reading of the account for ever.
CREATE OR REPLACE FUNCTION pi_turn_limit.check_amounts(what text, amounts jsonb) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	IF jsonb_typeof(amounts) IS DISTINCT FROM 'object' THEN
		PERFORM misuse(what || ': expected amounts by meter.');
	END IF;
	IF EXISTS (SELECT FROM jsonb_object_keys(amounts) AS meter WHERE meter NOT IN ('turns', 'cost', 'tokens')) THEN
		PERFORM misuse(what || ': expected no meters but turns, cost and tokens.');
	END IF;
	PERFORM check_amount(what, value) FROM jsonb_each(amounts);
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.check_text(what text, given text) RETURNS text LANGUAGE plpgsql
AS $$
BEGIN
	IF given IS NULL OR length(given) NOT BETWEEN 1 AND 1000 THEN
		PERFORM misuse(what || ': expected text of 1 to 1000 characters.');
	END IF;
	RETURN given;
END $$;

-- As the agents check it. In code points, because what [[:cntrl:]] means depends on the database's locale.
CREATE OR REPLACE FUNCTION pi_turn_limit.check_name(given text) RETURNS text LANGUAGE plpgsql
AS $$
BEGIN
	IF given ~ ('[\u0001-\u001F\u007F-\u009F\u00AD\u0600-\u0605\u061C\u06DD\u070F\u0890\u0891\u08E2\u180E\u200B-\u200F'
		'\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\U000110BD\U000110CD\U00013430-\U0001343F\U0001BCA0-\U0001BCA3'
		'\U0001D173-\U0001D17A\U000E0001-\U000E007F]') THEN
		PERFORM misuse('name: expected no characters that cannot be seen.');
	END IF;
	RETURN check_text('name', given);
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.check_ttl(given jsonb) RETURNS bigint LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM check_amount('ttl', given);
	IF given::numeric NOT BETWEEN 1 AND 600000 THEN
		PERFORM misuse('ttl: expected milliseconds from 1 to ten minutes.');
	END IF;
	RETURN given::bigint;
END $$;

-- In another isolation level a transaction does not see what others have spent since it began.
CREATE OR REPLACE FUNCTION pi_turn_limit.check_isolation() RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'expected the isolation level read committed.' USING ERRCODE = 'TL002';
	END IF;
END $$;

-- The keys of the accounts, in their order. A statement that is under way while this file runs goes on with functions of
-- both, so those that it calls keep their parameters.
CREATE OR REPLACE FUNCTION pi_turn_limit.locate(accounts jsonb, now bigint, hold_id text) RETURNS text[]
LANGUAGE plpgsql
AS $$
DECLARE
	account jsonb;
	keys text[] := '{}';
BEGIN
	IF jsonb_typeof(accounts) IS DISTINCT FROM 'array' OR jsonb_array_length(accounts) > 100 THEN
		PERFORM misuse('accounts: expected a list of at most 100.');
	END IF;
	FOR account IN SELECT value FROM jsonb_array_elements(accounts) LOOP
		PERFORM check_amounts('caps', account -> 'caps');
		IF account ->> 'scope' IS DISTINCT FROM 'fleet' THEN
			PERFORM misuse('scope: expected fleet.');
		END IF;
		keys := keys || ('fleet ' || check_name(account ->> 'name'));
		IF account ? 'period' THEN
			PERFORM end_of(account);
		END IF;
	END LOOP;
	IF (SELECT count(DISTINCT key) FROM unnest(keys) AS key) < cardinality(keys) THEN
		PERFORM misuse('accounts: expected each account once.');
	END IF;
	RETURN keys;
END $$;

-- When the account's day, week or month is over in every zone; null if it is not the account of one.
CREATE OR REPLACE FUNCTION pi_turn_limit.end_of(account jsonb) RETURNS bigint LANGUAGE plpgsql
AS $$
DECLARE
	form text := CASE account ->> 'period'
		WHEN 'day' THEN '[0-9]{4}-[0-9]{2}-[0-9]{2}' WHEN 'week' THEN '[0-9]{4}-W[0-9]{2}' WHEN 'month' THEN '[0-9]{4}-[0-9]{2}' END;
	written text := substring(account ->> 'name' FROM ' (' || form || ')$');
BEGIN
	IF account ? 'period' AND written IS NULL THEN
		PERFORM misuse('period: expected day, week or month, and a name that ends with it.');
	END IF;
	RETURN (extract(epoch FROM INTERVAL '1 day' + CASE account ->> 'period'
		WHEN 'day' THEN to_date(written, 'YYYY-MM-DD') + INTERVAL '1 day'
		WHEN 'week' THEN to_date(written, 'IYYY-"W"IW') + INTERVAL '7 days'
		WHEN 'month' THEN to_date(written, 'YYYY-MM') + INTERVAL '1 month' END) * 1000)::bigint;
END $$;

-- Notes when the accounts end that nobody has joined yet. What an operator has set has no end.
CREATE OR REPLACE FUNCTION pi_turn_limit.note_ends(accounts jsonb, keys text[]) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	UPDATE account SET ends = end_of(accounts -> (n::integer - 1))
	FROM unnest(keys) WITH ORDINALITY AS given (key, n)
	WHERE account.key = given.key AND caps IS NULL;
END $$;

-- Deletes a few accounts that were over, and last used, a week ago: more than are made. Keeps 100 of each budget's days,
-- weeks and months however old they seem, in case it is the clock that is wrong.
CREATE OR REPLACE FUNCTION pi_turn_limit.forget_ended(keys text[], now bigint) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	DELETE FROM account WHERE key IN (
		SELECT key FROM account
		WHERE ends < now - 604800000 AND touched < now - 604800000 AND key <> ALL (keys) AND key IN (
			SELECT older.key FROM unnest(keys) AS given (key), LATERAL (
				SELECT known.key FROM account AS known
				WHERE budget_of(known.key) = budget_of(given.key) AND length(known.key) = length(given.key)
					AND known.ends IS NOT NULL
				ORDER BY known.ends DESC OFFSET 100) AS older)
		ORDER BY ends LIMIT 5 FOR UPDATE SKIP LOCKED);
END $$;

-- Makes the accounts that are missing, and says how many have caps. Locks in one order, so that two operations never wait
-- for each other.
CREATE OR REPLACE FUNCTION pi_turn_limit.lock_accounts(keys text[], now bigint) RETURNS bigint LANGUAGE plpgsql
AS $$
DECLARE
	present bigint;
	joined bigint;
BEGIN
	SELECT count(*), count(caps) INTO present, joined
	FROM (SELECT caps FROM account WHERE key = ANY (keys) ORDER BY key FOR NO KEY UPDATE) AS locked;
	IF present = cardinality(keys) THEN
		RETURN joined;
	END IF;
	INSERT INTO account (key, touched) SELECT key, now FROM unnest(keys) AS key ORDER BY key ON CONFLICT DO NOTHING;
	RETURN lock_accounts(keys, now);
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.check_joined(accounts jsonb, keys text[]) RETURNS void LANGUAGE plpgsql
AS $$
DECLARE
	missing text;
BEGIN
	SELECT given.key INTO missing
	FROM unnest(keys) WITH ORDINALITY AS given (key, n) LEFT JOIN account USING (key)
	WHERE caps IS NULL
	ORDER BY n LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION '%', missing USING ERRCODE = 'TL001';
	END IF;
END $$;

-- What each account's reader sees: every meter that has a cap or a count. Not in SQL alone, which is planned anew for
-- every call.
CREATE OR REPLACE FUNCTION pi_turn_limit.readings(accounts jsonb, keys text[], now bigint) RETURNS jsonb LANGUAGE plpgsql
AS $$
BEGIN
	RETURN (
		SELECT coalesce(jsonb_agg(jsonb_build_object('key', given.key, 'meters', (
			SELECT coalesce(jsonb_object_agg(sums.meter, jsonb_build_object(
				'used', sums.used,
				'held', sums.held,
				'cap', coalesce(to_jsonb(
					least((reader.caps ->> sums.meter)::bigint, (account.caps ->> sums.meter)::bigint) + sums.granted),
					'"unlimited"'))), '{}')
			FROM (
				SELECT parts.meter, sum(parts.used)::bigint AS used, sum(parts.held)::bigint AS held,
					sum(parts.granted)::bigint AS granted
				FROM (
					SELECT m.meter, m.used, m.held, m.granted FROM meter AS m
					WHERE m.key = given.key AND (m.counted OR m.holds > 0)
					UNION ALL SELECT h.meter, h.amount, -h.amount, 0 FROM hold AS h
					WHERE h.key = given.key AND h.until <= readings.now
					UNION ALL SELECT jsonb_object_keys(reader.caps || coalesce(account.caps, '{}')), 0, 0, 0
				) AS parts
				GROUP BY parts.meter
			) AS sums
		)) ORDER BY given.n), '[]')
		FROM unnest(keys) WITH ORDINALITY AS given (key, n)
		CROSS JOIN LATERAL (SELECT accounts -> (given.n::integer - 1) -> 'caps' AS caps) AS reader
		LEFT JOIN account ON account.key = given.key
	);
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.release(hold_id text) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	WITH gone AS (DELETE FROM hold WHERE id = hold_id RETURNING key, meter, amount)
	UPDATE meter SET held = meter.held - gone.amount, holds = meter.holds - 1
	FROM gone WHERE meter.key = gone.key AND meter.meter = gone.meter;
END $$;

-- False if the id has been done. Forgets a few that are older than a week, more than come in.
CREATE OR REPLACE FUNCTION pi_turn_limit.finish(done_id text, now bigint) RETURNS boolean LANGUAGE plpgsql
AS $$
BEGIN
	INSERT INTO done (id, at) VALUES (done_id, now) ON CONFLICT DO NOTHING;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	DELETE FROM done WHERE id IN (
		SELECT id FROM done WHERE at < now - 604800000 ORDER BY at LIMIT 3 FOR UPDATE SKIP LOCKED);
	RETURN true;
END $$;

-- A hold that lapsed a week ago will not be settled any more: it stays charged, and its row goes.
CREATE OR REPLACE FUNCTION pi_turn_limit.charge_lost(account_key text, now bigint) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	WITH lost AS (
		SELECT id, meter FROM hold WHERE key = account_key AND until < now - 604800000 LIMIT 1000
	), gone AS (
		DELETE FROM hold USING lost WHERE hold.id = lost.id AND hold.key = account_key AND hold.meter = lost.meter
		RETURNING hold.id, hold.meter, hold.amount
	), noted AS (
		INSERT INTO done (id, at) SELECT DISTINCT id, now FROM gone ON CONFLICT DO NOTHING
	)
	UPDATE meter SET used = used + sum, held = held - sum, holds = holds - n, counted = true
	FROM (SELECT gone.meter, sum(amount)::bigint AS sum, count(*) AS n FROM gone GROUP BY gone.meter) AS sums
	WHERE key = account_key AND meter.meter = sums.meter;
END $$;

-- What agents may call: one function per operation of src/ledger/port.ts. The readings of a new hold are those before it.
-- Plans are made once per connection, since making one takes longer than carrying it out; so they must not depend on how
-- little the tables hold by then. Who waits for a lock gives up soon and asks again, because a server with hundreds that
-- wait is busy with them alone.

CREATE OR REPLACE FUNCTION pi_turn_limit.ledger_join(request jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '500ms' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
	now bigint := clock();
	keys text[] := locate(request -> 'accounts', now, NULL);
BEGIN
	PERFORM check_isolation();
	PERFORM lock_accounts(keys, now);
	PERFORM charge_lost(key, now) FROM unnest(keys) AS key;
	PERFORM note_ends(request -> 'accounts', keys);
	UPDATE account SET caps = request -> 'accounts' -> (n::integer - 1) -> 'caps'
	FROM unnest(keys) WITH ORDINALITY AS given (key, n)
	WHERE account.key = given.key AND caps IS NULL;
	PERFORM forget_ended(keys, now);
	RETURN jsonb_build_object('readings', readings(request -> 'accounts', keys, now));
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.ledger_reserve(request jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '500ms' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
	now bigint := clock();
	hold_id text := check_text('id', request ->> 'id');
	ttl bigint := check_ttl(request -> 'ttl');
	accounts jsonb := request -> 'accounts';
	amounts jsonb := request -> 'amounts';
	keys text[] := locate(accounts, now, hold_id);
	current jsonb;
	refusal jsonb;
BEGIN
	PERFORM check_isolation();
	PERFORM check_amounts('amounts', amounts);
	IF cardinality(keys) = 0 OR amounts = '{}' THEN
		PERFORM misuse('reserve: expected at least one account and one meter.');
	END IF;
	IF lock_accounts(keys, now) < cardinality(keys) THEN
		PERFORM check_joined(accounts, keys);
	END IF;
	current := readings(accounts, keys, now);
	IF EXISTS (SELECT FROM hold WHERE id = hold_id) THEN
		RETURN jsonb_build_object('granted', true, 'readings', current);
	END IF;
	IF EXISTS (SELECT FROM done WHERE id = hold_id) THEN
		PERFORM misuse('reserve: the id has been settled.');
	END IF;
	-- After the clock has gone back a hold would outlive its dead holder by as much.
	UPDATE hold SET until = now + 600000 WHERE key = ANY (keys) AND until > now + 600000;
	-- Full is a meter whose cap is reached, or would be exceeded while others hold something. The outermost comes first.
	SELECT jsonb_build_object('granted', false, 'readings', current, 'full', n - 1,
		'meters', jsonb_agg(meter), 'spent', bool_or(used >= cap))
	INTO refusal
	FROM (
		SELECT n, meter, (balance ->> 'used')::bigint AS used, (balance ->> 'held')::bigint AS held,
			(balance ->> 'cap')::bigint AS cap, coalesce((amounts ->> meter)::bigint, 0) AS amount
		FROM jsonb_array_elements(current) WITH ORDINALITY AS one (reading, n),
			jsonb_each(reading -> 'meters') AS each (meter, balance)
		WHERE balance -> 'cap' <> '"unlimited"'
	) AS capped
	WHERE used + held >= cap OR (held > 0 AND used + held + amount > cap)
	GROUP BY n
	ORDER BY n
	LIMIT 1;
	IF FOUND THEN
		RETURN refusal;
	END IF;
	INSERT INTO meter (key, meter, held, holds)
	SELECT key, amount.meter, amount.value::bigint, 1
	FROM unnest(keys) AS key, jsonb_each_text(amounts) AS amount (meter, value)
	ON CONFLICT (key, meter) DO UPDATE SET held = meter.held + excluded.held, holds = meter.holds + 1;
	INSERT INTO hold (id, key, meter, amount, until)
	SELECT hold_id, key, amount.meter, amount.value::bigint, now + ttl
	FROM unnest(keys) AS key, jsonb_each_text(amounts) AS amount (meter, value);
	RETURN jsonb_build_object('granted', true, 'isNew', true, 'readings', current);
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.ledger_settle(request jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '500ms' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
	now bigint := clock();
	hold_id text := check_text('id', request ->> 'id');
	amounts jsonb := request -> 'amounts';
	keys text[] := locate(request -> 'accounts', now, hold_id);
BEGIN
	PERFORM check_isolation();
	PERFORM check_amounts('amounts', amounts);
	IF lock_accounts(keys, now) < cardinality(keys) THEN
		PERFORM note_ends(request -> 'accounts', keys);
	END IF;
	IF finish(hold_id, now) THEN
		UPDATE account SET touched = now WHERE key = ANY (keys) AND touched < now - 3600000;
		INSERT INTO meter (key, meter, used, counted)
		SELECT key, amount.meter, amount.value::bigint, true
		FROM unnest(keys) AS key, jsonb_each_text(amounts) AS amount (meter, value)
		ON CONFLICT (key, meter) DO UPDATE SET used = meter.used + excluded.used, counted = true;
		PERFORM release(hold_id);
	END IF;
	RETURN jsonb_build_object('readings', readings(request -> 'accounts', keys, now));
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.ledger_renew(request jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '500ms' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
	ttl bigint := check_ttl(request -> 'ttl');
BEGIN
	UPDATE hold SET until = greatest(until, clock() + ttl)
	WHERE id IN (SELECT jsonb_array_elements_text(request -> 'ids'));
	RETURN '{}';
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.ledger_read(request jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '500ms' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
	now bigint := clock();
	keys text[] := locate(request -> 'accounts', now, NULL);
BEGIN
	PERFORM check_joined(request -> 'accounts', keys);
	RETURN jsonb_build_object('readings', readings(request -> 'accounts', keys, now));
END $$;

-- What operators may call as well.

-- On top of the cap, or of what is used where that is more.
CREATE OR REPLACE FUNCTION pi_turn_limit.ledger_raise(request jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
	now bigint := clock();
	grant_id text := check_text('id', request ->> 'id');
	accounts jsonb := request -> 'accounts';
	amounts jsonb := request -> 'amounts';
	keys text[] := locate(accounts, now, NULL);
BEGIN
	PERFORM check_isolation();
	PERFORM check_amounts('by', amounts);
	PERFORM lock_accounts(keys, now);
	PERFORM check_joined(accounts, keys);
	IF finish(grant_id, now) THEN
		INSERT INTO meter (key, meter, granted, counted)
		SELECT reading ->> 'key', amount.meter, amount.value::bigint + CASE
			WHEN coalesce(balance -> 'cap', '"unlimited"') = '"unlimited"' THEN 0
			ELSE greatest(0, (balance ->> 'used')::bigint - (balance ->> 'cap')::bigint) END, true
		FROM jsonb_array_elements(readings(accounts, keys, now)) AS one (reading),
			jsonb_each_text(amounts) AS amount (meter, value),
			LATERAL (SELECT reading -> 'meters' -> amount.meter) AS its (balance)
		ON CONFLICT (key, meter) DO UPDATE SET granted = meter.granted + excluded.granted, counted = true;
	END IF;
	RETURN jsonb_build_object('readings', readings(accounts, keys, now));
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.amounts_of(turns bigint, cost numeric, tokens bigint) RETURNS jsonb LANGUAGE sql
AS $$ SELECT jsonb_strip_nulls(jsonb_build_object('turns', turns, 'cost', round(cost * 1000000)::bigint, 'tokens', tokens)) $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.check_budget(account text) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM FROM account AS known WHERE key = 'fleet ' || check_budget.account FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		PERFORM misuse('There is no budget ' || quote_literal(account) || '.');
	END IF;
END $$;

-- One budget with its days, weeks and months; null: all.
CREATE OR REPLACE FUNCTION pi_turn_limit.budgets(only_of text)
RETURNS TABLE (account text, meter text, used numeric, held numeric, cap numeric, last_used timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
AS $$
	WITH listed AS (
		SELECT key, caps, touched FROM account
		WHERE only_of IS NULL
			OR starts_with(key, 'fleet ' || only_of) AND 'fleet ' || only_of IN (key, budget_of(key))
	), parts AS (
		SELECT key, m.meter, m.used, m.held, m.granted FROM listed JOIN meter AS m USING (key) WHERE m.counted OR m.holds > 0
		UNION ALL SELECT key, h.meter, h.amount, -h.amount, 0 FROM listed JOIN hold AS h USING (key) WHERE h.until <= clock()
		UNION ALL SELECT key, jsonb_object_keys(caps), 0, 0, 0 FROM listed
	), sums AS (
		SELECT key, parts.meter, sum(parts.used) AS used, sum(parts.held) AS held, sum(granted) AS granted,
			CASE parts.meter WHEN 'cost' THEN 1000000.0 ELSE 1 END AS unit
		FROM parts GROUP BY key, parts.meter
	)
	SELECT substr(key, 7), sums.meter, trim_scale(sums.used / unit), trim_scale(sums.held / unit),
		trim_scale(((caps ->> sums.meter)::bigint + granted) / unit), to_timestamp(touched / 1000)
	FROM listed LEFT JOIN sums USING (key)
	ORDER BY 1, 2
$$;

CREATE OR REPLACE FUNCTION pi_turn_limit.budgets()
RETURNS TABLE (account text, meter text, used numeric, held numeric, cap numeric, last_used timestamptz)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
AS $$ SELECT * FROM budgets(NULL) $$;

-- Makes a budget, or gives one new caps; a meter that is left out is unlimited. What was used stays.
CREATE OR REPLACE FUNCTION pi_turn_limit.set_budget(
	account text, turns bigint DEFAULT NULL, cost numeric DEFAULT NULL, tokens bigint DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
	new_caps jsonb := amounts_of(turns, cost, tokens);
	account_key text := 'fleet ' || check_name(account);
BEGIN
	PERFORM check_amounts('caps', new_caps);
	PERFORM lock_accounts(ARRAY[account_key], clock());
	UPDATE account AS known SET caps = new_caps, ends = NULL WHERE key = account_key;
	UPDATE meter SET granted = 0 WHERE key = account_key;
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.raise_budget(
	account text, turns bigint DEFAULT NULL, cost numeric DEFAULT NULL, tokens bigint DEFAULT NULL
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '4s'
AS $$
	SELECT check_budget(account);
	SELECT ledger_raise(jsonb_build_object('id', 'operator ' || gen_random_uuid(),
		'accounts', jsonb_build_array(jsonb_build_object('scope', 'fleet', 'name', account, 'caps', '{}'::jsonb)),
		'amounts', amounts_of(turns, cost, tokens)))
$$;

-- Nothing is used and nothing was granted any more, in this account alone. What is in flight stays held. Whatever is
-- settled later is charged, also for a hold that has lapsed.
CREATE OR REPLACE FUNCTION pi_turn_limit.reset_budget(account text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
	account_key text := 'fleet ' || account;
	now bigint := clock();
BEGIN
	PERFORM check_budget(account);
	WITH gone AS (DELETE FROM hold WHERE key = account_key AND until <= now RETURNING hold.meter, amount)
	UPDATE meter SET held = held - sum, holds = holds - n
	FROM (SELECT gone.meter, sum(amount)::bigint AS sum, count(*) AS n FROM gone GROUP BY gone.meter) AS sums
	WHERE key = account_key AND meter.meter = sums.meter;
	UPDATE meter SET used = 0, granted = 0 WHERE key = account_key;
END $$;

CREATE OR REPLACE FUNCTION pi_turn_limit.delete_budget(account text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pi_turn_limit, pg_temp
SET lock_timeout = '4s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
BEGIN
	PERFORM check_budget(account);
	DELETE FROM account AS known WHERE key = 'fleet ' || delete_budget.account;
END $$;

REVOKE ALL ON SCHEMA pi_turn_limit FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA pi_turn_limit FROM PUBLIC, pi_turn_limit_agent, pi_turn_limit_operator;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pi_turn_limit FROM PUBLIC, pi_turn_limit_agent, pi_turn_limit_operator;

GRANT USAGE ON SCHEMA pi_turn_limit TO pi_turn_limit_agent, pi_turn_limit_operator;
GRANT EXECUTE ON FUNCTION
	pi_turn_limit.version(),
	pi_turn_limit.ledger_join(jsonb),
	pi_turn_limit.ledger_reserve(jsonb),
	pi_turn_limit.ledger_settle(jsonb),
	pi_turn_limit.ledger_renew(jsonb),
	pi_turn_limit.ledger_read(jsonb)
TO pi_turn_limit_agent;
GRANT EXECUTE ON FUNCTION
	pi_turn_limit.version(),
	pi_turn_limit.ledger_read(jsonb),
	pi_turn_limit.ledger_raise(jsonb),
	pi_turn_limit.budgets(),
	pi_turn_limit.budgets(text),
	pi_turn_limit.set_budget(text, bigint, numeric, bigint),
	pi_turn_limit.raise_budget(text, bigint, numeric, bigint),
	pi_turn_limit.reset_budget(text),
	pi_turn_limit.delete_budget(text)
TO pi_turn_limit_operator;

COMMIT;
