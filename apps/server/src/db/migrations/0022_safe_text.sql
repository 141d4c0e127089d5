-- ledger: documents from before a provider's text was made safe. JSON writes NUL and half a surrogate pair as an escape,
-- which PostgreSQL keeps as text and refuses to read as JSON, and with it the daily values of the user. Now as if they had
-- been derived anew; an even number of backslashes before it is somebody's own backslash.
update transactions
set document = regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u(0000|d[89a-f][0-9a-f]{2})', '\1' || chr(65533), 'g'),
    updated_at = assay_now()
where document ~ '\\u(0000|d[89a-f])';
