/**
 * Each brings one session from a format to the next, as the body of a Lua function that sees the keys by name; run by the first script that meets the
 * session, before anything else. What was published is never changed. A session of a later format is refused, not changed.
 */
const UPGRADES: readonly string[] = [];

/** The keys every script is given, in this order. */
export const KEY_NAMES = ["session", "messages", "metadata", "operations", "counts"] as const;

/**
 * Redis does not undo what a script did before it failed. So each reads all it touches before its first write, which finds a key of the
 * wrong type, and begins to write with one small command that is refused where memory or disk is full; the rest then goes through.
 * `stored` answers revision, retired and count, or what is to be answered instead.
 */
const preludeOf = (upgrades: readonly string[]): string => `
local session, messages, metadata, operations, counts, index, writes = unpack(KEYS)
local function text(number) return string.format('%.0f', number) end
local format = ${upgrades.length + 1}
local upgrades = {${upgrades.map((upgrade) => `function()\n${upgrade}\nend`).join(",\n")}}
local function stored()
  local own = redis.call('HGET', session, 'format')
  if own and not (tonumber(own) and tonumber(own) <= format) then return nil, {'newer', own} end
  for version = tonumber(own or format), format - 1 do
    upgrades[version]()
    redis.call('HSET', session, 'format', version + 1)
  end
  local found = redis.call('HMGET', session, 'format', 'revision', 'retired', 'count')
  local revision, retired, count = tonumber(found[2] or '0'), tonumber(found[3] or '0'), tonumber(found[4] or '0')
  if not (revision and retired and count) then return nil, {'damaged'} end
  return {revision = revision, retired = retired, count = count}
end
local function written(id)
  local number = redis.call('INCR', writes)
  redis.call('ZADD', index, number, id)
  local now = redis.call('TIME')
  redis.call('HSET', session, 'format', format, 'live', '1',
    'updated', text(now[1] * 1000 + math.floor(now[2] / 1000)))
end
`;

/** A metadata key keeps its place among the others: its value is stored behind the number under which it was first set. */
const APPEND = `
local id, operation, base, compaction, bodies, unset = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local at, refusal = stored()
if refusal then return refusal end
local applied = redis.call('HGET', operations, operation)
if applied then return {'applied', text(at.revision), text(at.retired), applied} end
local patch = base == ''
if patch and (bodies > 0 or compaction ~= '') or not patch and tonumber(base) ~= at.revision then
  return {'refused', text(at.revision), text(at.retired)}
end
if redis.call('LLEN', messages) ~= at.count then return {'damaged'} end
redis.call('HLEN', metadata)
redis.call('HLEN', counts)
redis.call('ZCARD', index)
local places = tonumber(redis.call('HGET', session, 'places') or '0') or 0

written(id)
local revision = patch and at.revision or math.max(at.revision, at.retired) + 1
local count = at.count + bodies
local from = 7
for n = from, from + bodies - 1 do redis.call('RPUSH', messages, ARGV[n]) end
from = from + bodies
for n = from, from + unset - 1 do redis.call('HDEL', metadata, ARGV[n]) end
for n = from + unset, #ARGV, 2 do
  local old = redis.call('HGET', metadata, ARGV[n])
  local place = old and string.match(old, '^%d+')
  if not place then
    places = places + 1
    place = text(places)
  end
  redis.call('HSET', metadata, ARGV[n], place .. ' ' .. ARGV[n + 1])
end
redis.call('HSET', session, 'revision', text(revision), 'count', text(count), 'places', text(places))
if compaction ~= '' then redis.call('HSET', session, 'compaction', compaction) end
redis.call('HSET', operations, operation, text(revision))
if not patch then redis.call('HSET', counts, text(revision), text(count)) end
return {'written', text(revision)}
`;

/** A client may send a command again whose answer was lost with the connection; the token then tells that it was done. */
const SAVE = `
local id, token, base, compaction, later, bodies = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local at, refusal = stored()
if refusal then return refusal end
local saved = redis.call('HMGET', session, 'token', 'saved')
if saved[1] == token then return {'written', saved[2]} end
if base ~= '' and tonumber(base) ~= at.revision then return {'refused', text(at.revision), text(at.retired)} end
redis.call('ZCARD', index)

written(id)
local revision = math.max(at.revision, at.retired) + 1
redis.call('DEL', messages, metadata, counts)
redis.call('HDEL', session, 'compaction', 'later')
for n = 7, 6 + bodies do redis.call('RPUSH', messages, ARGV[n]) end
local places = 0
for n = 7 + bodies, #ARGV, 2 do
  places = places + 1
  redis.call('HSET', metadata, ARGV[n], text(places) .. ' ' .. ARGV[n + 1])
end
redis.call('HSET', session, 'revision', text(revision), 'count', text(bodies), 'places', text(places),
  'token', token, 'saved', text(revision))
if compaction ~= '' then redis.call('HSET', session, 'compaction', compaction) end
if later ~= '' then redis.call('HSET', session, 'later', later) end
redis.call('HSET', counts, text(revision), text(bodies))
return {'written', text(revision)}
`;

/** The highest revision of the id stays, and nothing else. */
const DELETE = `
local at, refusal = stored()
if refusal then return refusal end
if not redis.call('HGET', session, 'live') then return {'written', '0'} end
redis.call('ZREM', index, ARGV[1])
redis.call('DEL', session, messages, metadata, operations, counts)
redis.call('HSET', session, 'format', format, 'retired', text(math.max(at.revision, at.retired)))
return {'written', '0'}
`;

const LOAD = `
local at, refusal = stored()
if refusal then return refusal end
local found = redis.call('HMGET', session, 'live', 'compaction', 'later')
if not found[1] then return {'none'} end
local from = 0
if ARGV[1] ~= '' and tonumber(ARGV[1]) <= at.revision then
  from = tonumber(redis.call('HGET', counts, ARGV[1]) or '0') or 0
end
return {'found', text(at.revision), text(at.count), text(from), found[2] or '', found[3] or '',
  redis.call('HGETALL', metadata), redis.call('LRANGE', messages, from, -1)}
`;

const PAGE = `
return redis.call('ZREVRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
`;

/** A damaged session is listed with what can be read of it. */
const INFOS = `
local infos = {}
for n = 1, #KEYS, 2 do
  local found = redis.pcall('HMGET', KEYS[n], 'live', 'revision', 'count', 'updated')
  if found.err then found = {'1'} end
  local fields = redis.pcall('HGETALL', KEYS[n + 1])
  if fields.err then fields = {} end
  infos[#infos + 1] = {found[1] or '', found[2] or '0', found[3] or '0', found[4] or '0', fields}
end
return infos
`;

/** The scripts by name; each is atomic. */
export type Scripts = Readonly<Record<"append" | "save" | "delete" | "load" | "page" | "infos", string>>;

/** The scripts of the format that these upgrades lead to. */
export function scriptsOf(upgrades: readonly string[]): Scripts {
  const prelude = preludeOf(upgrades);
  const own = { append: prelude + APPEND, save: prelude + SAVE, delete: prelude + DELETE, load: prelude + LOAD };
  return { ...own, page: PAGE, infos: INFOS };
}

/** Those of this version. */
export const SCRIPTS = scriptsOf(UPGRADES);
