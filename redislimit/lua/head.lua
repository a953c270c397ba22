-- Decides the rules of one request, all or none, on the server's clock. Time is in microseconds; every number is an
-- integer below 2^53, which a double holds exactly. The script that a server gets is this file, one file for each algorithm
-- that it is for, and decide.lua.
--
-- KEYS: one a rule. ARGV[1]: take, peek, drain (take what is there, at most n) or refund. Then one a rule, a letter and five
-- doubles:
--   b cost capacity rate unit 0    token bucket: cost and capacity in units, units a microsecond, units a token
--   f n capacity window 0 at       fixed window; at: for refund, the instant at which the tokens were taken
--   c n capacity window 0 at       sliding-window counter
--   l n capacity window 0 at       sliding-window log
--
-- Reply: five integers a rule: allowed (0 or 1; for drain: how many were taken), the instant it counted at, and the
-- state, after the take if all are allowed (for peek: what it would be), else before it:
--   b debt 0 0  |  f window count 0  |  c window current previous  |  l used newest blocking
-- where blocking is the instant of the entry that must go before n fit. A refusal writes nothing, save once after a change
-- of the rule: the state is then written as the new rule counts it, so that it is converted only once.
--
-- Each algorithm is a function of (key, n, capacity, x, y, at). It returns the reply, how many tokens it takes, and what is
-- to be written: for how many microseconds it matters, and the value; nil if nothing is. Another rule's state is
-- converted as SetRule does in process: a bucket keeps its tokens, a window its counts.

local op = ARGV[1]
local time = now()
local algorithms = {}

local floor, max, min = math.floor, math.max, math.min

-- floor(x / y): the quotient of doubles can round up to the next integer
local function floordiv(x, y)
  local q = floor(x / y)
  if q * y > x then return q - 1 end
  return q
end

local function ceildiv(x, y)
  local q = floordiv(x, y)
  if q * y < x then return q + 1 end
  return q
end

-- the doubles that a key holds; nothing if there is no key, or another's data, which counts as none and is overwritten
local function state(key, format, doubles)
  local stored = redis.pcall('GET', key)
  if type(stored) == 'string' and #stored == 8 * doubles then return struct.unpack(format, stored) end
end

-- milliseconds until us are over, for PX and PEXPIRE
local function expiry(us) return max(1, math.ceil(us / 1000)) + slack end

-- A value is of doubles, which hold the integers exactly, and cost a third of what digits do; or a function that writes.
local function save(key, us, value)
  if op == 'peek' then return end
  if type(value) == 'function' then
    value()
  elseif us <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, value, 'PX', expiry(us))
  end
end
