-- Decides the rules of one request, all or none, on the server's clock. Time is in microseconds; every number is an
-- integer below 2^53, which a double holds exactly.
--
-- KEYS: one a rule. ARGV[1]: take, peek, drain (take what is there, at most n) or refund. Then six a rule:
--   b cost capacity rate unit 0    token bucket: cost and capacity in units, units a microsecond, units a token
--   f n capacity window 0 at       fixed window; at: for refund, the instant at which the tokens were taken
--   c n capacity window 0 at       sliding-window counter
--   l n capacity window 0 at       sliding-window log
--
-- Reply: five integers a rule: allowed (0 or 1; for drain: how many were taken), the instant it counted at, and the
-- state, after the take if all are allowed (for peek: what it would be), else before it:
--   b debt 0 0  |  f window count 0  |  c window current previous  |  l used newest blocking
-- where blocking is the instant of the entry that must go before n fit. A refusal writes nothing.

local op = ARGV[1]
local time = now()

local function text(...)
  local words = {...}
  for i = 1, #words do words[i] = string.format('%.0f', words[i]) end
  return table.concat(words, ' ')
end

local function numbers(s)
  local found = {}
  for word in string.gmatch(s, '%d+') do found[#found + 1] = tonumber(word) end
  return found
end

-- floor(x / y): the quotient of doubles can round up to the next integer
local function floordiv(x, y)
  local q = math.floor(x / y)
  if q * y > x then q = q - 1 end
  return q
end

local function milliseconds(us)
  return math.max(1, math.ceil(us / 1000)) + slack
end

local function save(key, value, us)
  if us <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, value, 'PX', string.format('%.0f', milliseconds(us)))
  end
end

-- Each algorithm is a function of (key, n, capacity, x, y, at). It returns whether n is admitted, the reply before and
-- after, and a function that writes what is after.

local function bucket(key, cost, capacity, rate, unit)
  local now, debt = time, 0
  local stored = redis.call('GET', key)
  if stored then
    local s = numbers(stored) -- instant, debt, capacity, rate, unit
    local elapsed = math.max(0, now - s[1])
    now, debt = math.max(now, s[1]), s[2]
    if elapsed > debt / s[4] then debt = 0 else debt = math.max(0, debt - elapsed * s[4]) end
    if debt > 0 and (s[3] ~= capacity or s[4] ~= rate or s[5] ~= unit) then -- another rule: whole tokens are kept
      debt = math.max(0, capacity - floordiv(s[3] - debt, s[5]) * unit)
    end
  end
  if op == 'refund' then
    cost = -math.min(cost, debt)
  elseif op == 'drain' then
    cost = math.min(cost, floordiv(capacity - debt, unit) * unit)
  end
  local after = debt + cost
  return after <= capacity, {now, debt, 0, 0}, {now, after, 0, 0}, function()
    if cost ~= 0 then save(key, text(now, after, capacity, rate, unit), math.ceil(after / rate)) end
    return cost / unit
  end
end

local function fixed(key, n, capacity, window, _, at)
  local number, count = floordiv(time, window), 0
  local stored = redis.call('GET', key)
  if stored then
    local s = numbers(stored) -- number, count, capacity, window
    local from = s[1] * s[4]
    if from + s[4] > time then -- its window isn't past; a newer one than now's stands
      number, count = math.max(number, floordiv(from, window)), s[2]
      if count >= s[3] and capacity > s[3] then count = capacity end -- who is being refused gains nothing
    end
  end
  local now = math.max(time, number * window)
  if op == 'refund' then
    if floordiv(at, window) == number then n = -math.min(n, count) else n = 0 end
  elseif op == 'drain' then
    n = math.max(0, math.min(n, capacity - count))
  end
  local after = count + n
  return after <= capacity, {now, number, count, 0}, {now, number, after, 0}, function()
    if n ~= 0 then save(key, text(number, after, capacity, window), after > 0 and (number + 1) * window - time or 0) end
    return n
  end
end

local function counter(key, n, capacity, window, _, at)
  local number, current, previous = floordiv(time, window), 0, 0
  local stored = redis.call('GET', key)
  local s = stored and numbers(stored) -- number, current, previous, capacity, window
  if s and s[5] == window then
    if s[1] >= number then
      number, current, previous = s[1], s[2], s[3]
    elseif s[1] == number - 1 then
      previous = s[2]
    end
  elseif s and (s[1] + 2) * s[5] > time then -- another window: all that counted counts as this one's
    current = math.min(s[2] + s[3], capacity)
  end
  local now = math.max(time, number * window)
  local rest = (number + 1) * window - now
  local function used() return current + floordiv(previous * rest + window - 1, window) end
  if s and capacity > s[4] and used() >= s[4] then current = current + capacity - s[4] end -- gains nothing
  local was = {now, number, current, previous}
  if op == 'refund' then
    local taken = floordiv(at, window)
    if taken == number then
      n = math.min(n, current)
      current = current - n
    elseif taken == number - 1 then
      n = math.min(n, previous)
      previous = previous - n
    else
      n = 0
    end
  else
    if op == 'drain' then n = math.max(0, math.min(n, capacity - used())) end
    current = current + n
  end
  return op == 'refund' or previous * rest + current * window <= capacity * window, was, {now, number, current, previous}, function()
    if n == 0 then return 0 end
    local ends = 0
    if current > 0 then ends = (number + 2) * window elseif previous > 0 then ends = (number + 1) * window end
    save(key, text(number, current, previous, capacity, window), ends - time)
    return n
  end
end

-- The log is a sorted set: score = instant; member = running total and tokens, both of 16 digits, so that entries of one
-- instant stand in their order. What a span of it holds is the difference of two totals.

local function member(total, n) return string.format('%016.0f %016.0f', total, n) end

local function entry(key, rank)
  local found = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
  if not found[1] then return nil end
  local s = numbers(found[1])
  return {total = s[1], n = s[2], at = tonumber(found[2])}
end

local function refundLog(key, n, window, first, now, used, newest, at)
  local kept, left = {}, n
  local all = redis.call('ZRANGE', key, first, -1, 'WITHSCORES')
  for i = 1, #all, 2 do
    local s, back = numbers(all[i]), 0
    if tonumber(all[i + 1]) == at then back = math.min(left, s[2]) end
    left = left - back
    if s[2] > back then kept[#kept + 1] = {s[2] - back, all[i + 1]} end
  end
  return true, {now, used, newest, 0}, {now, used - (n - left), newest, 0}, function()
    if left == n then return end
    redis.call('DEL', key)
    local total = 0
    for i = 1, #kept do
      total = total + kept[i][1]
      redis.call('ZADD', key, kept[i][2], member(total, kept[i][1]))
    end
    if #kept > 0 then
      redis.call('PEXPIRE', key, string.format('%.0f', milliseconds(tonumber(kept[#kept][2]) + window - time)))
    end
  end
end

local function log(key, n, capacity, window, _, at)
  local now, newest, size = time, entry(key, -1), redis.call('ZCARD', key)
  local used, first = 0, 0 -- first: the rank of the oldest entry that counts
  if newest then
    now = math.max(now, newest.at)
    first = redis.call('ZCOUNT', key, '-inf', string.format('%.0f', now - window))
    if first < size then
      local oldest = entry(key, first)
      used = newest.total - oldest.total + oldest.n
    end
  end
  local last = used > 0 and newest.at or 0
  if op == 'refund' then return refundLog(key, n, window, first, now, used, last, at) end
  if op == 'drain' then n = math.max(0, math.min(n, capacity - used)) end
  local allowed, blocking = used + n <= capacity, 0
  if not allowed and n <= capacity then -- the oldest entry whose going makes room: a binary search over ranks
    local low, high = first, size - 1
    while low < high do
      local middle = floordiv(low + high, 2)
      if newest.total - entry(key, middle).total + n <= capacity then high = middle else low = middle + 1 end
    end
    blocking = entry(key, low).at
  end
  return allowed, {now, used, last, blocking}, {now, used + n, n > 0 and now or last, blocking}, function()
    if n == 0 then return 0 end
    if first == size then redis.call('DEL', key) elseif first > 0 then redis.call('ZREMRANGEBYRANK', key, 0, first - 1) end
    local total = used > 0 and newest.total or 0
    redis.call('ZADD', key, string.format('%.0f', now), member(total + n, n))
    redis.call('PEXPIRE', key, string.format('%.0f', milliseconds(now + window - time)))
    return n
  end
end

local algorithms = {b = bucket, f = fixed, c = counter, l = log}
local before, after, writes, all = {}, {}, {}, true
for i = 1, #KEYS do
  local arg = (i - 1) * 6 + 2
  local allowed, was, is, write = algorithms[ARGV[arg]](KEYS[i], tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2]),
    tonumber(ARGV[arg + 3]), tonumber(ARGV[arg + 4]), tonumber(ARGV[arg + 5]))
  all, writes[i] = all and allowed, write
  before[#before + 1], after[#after + 1] = allowed and 1 or 0, 1
  for j = 1, 4 do
    before[#before + 1], after[#after + 1] = was[j], is[j]
  end
end
if not all then return before end
if op ~= 'peek' then
  for i = 1, #KEYS do
    local taken = writes[i]()
    if op == 'drain' then after[(i - 1) * 5 + 1] = taken end
  end
end
return after
