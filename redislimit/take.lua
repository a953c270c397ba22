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
-- where blocking is the instant of the entry that must go before n fit. A refusal writes nothing, save once after a change
-- of the rule: the state is then written as the new rule counts it, so that it is converted only once.

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

local function ceildiv(x, y)
  local q = floordiv(x, y)
  if q * y < x then q = q + 1 end
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
-- after, a function that writes what is after, and one that writes what is before, if another rule's state was found.
-- Such a state is converted as SetRule does in process: what is used is kept, and who is being refused gains nothing.

local function bucket(key, cost, capacity, rate, unit)
  local now, debt, convert = time, 0, nil
  local function write(owed) save(key, text(now, owed, capacity, rate, unit), ceildiv(owed, rate) + now - time) end
  local stored = redis.call('GET', key)
  if stored then
    local s = numbers(stored) -- instant, debt, capacity, rate, unit
    local elapsed = math.max(0, now - s[1])
    now, debt = math.max(now, s[1]), s[2]
    if elapsed > debt / s[4] then debt = 0 else debt = math.max(0, debt - elapsed * s[4]) end
    if debt > 0 and (s[3] ~= capacity or s[4] ~= rate or s[5] ~= unit) then -- whole tokens are kept
      debt = math.max(0, capacity - floordiv(s[3] - debt, s[5]) * unit)
      local converted = debt
      convert = function() write(converted) end
    end
  end
  if op == 'refund' then
    cost = -math.min(cost, debt)
  elseif op == 'drain' then
    cost = math.min(cost, floordiv(capacity - debt, unit) * unit)
  end
  local after = debt + cost
  return after <= capacity, {now, debt, 0, 0}, {now, after, 0, 0}, function()
    if cost ~= 0 then write(after) end
    return cost / unit
  end, convert
end

local function fixed(key, n, capacity, window, _, at)
  local number, count, convert = floordiv(time, window), 0, nil
  local function write(used)
    save(key, text(number, used, capacity, window), used > 0 and (number + 1) * window - time or 0)
  end
  local stored = redis.call('GET', key)
  if stored then
    local s = numbers(stored) -- number, count, capacity, window
    if (s[1] + 1) * s[4] > time then -- its window isn't past
      count = s[2]
      if s[4] == window then number = s[1] end -- a newer one than now's stands; another rule's count is this window's
      if count >= s[3] and capacity > s[3] then count = capacity end
      if s[3] ~= capacity or s[4] ~= window then
        local converted = count
        convert = function() write(converted) end
      end
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
    if n ~= 0 then write(after) end
    return n
  end, convert
end

local function counter(key, n, capacity, window, _, at)
  local number, current, previous, convert = floordiv(time, window), 0, 0, nil
  local function write(this, last)
    local ends = time
    if this > 0 then ends = (number + 2) * window elseif last > 0 then ends = (number + 1) * window end
    save(key, text(number, this, last, capacity, window), ends - time)
  end
  local stored = redis.call('GET', key)
  local s = stored and numbers(stored) -- number, current, previous, capacity, window
  if s and s[5] == window then
    if s[1] >= number then
      number, current, previous = s[1], s[2], s[3]
    elseif s[1] == number - 1 then
      previous = s[2]
    end
  elseif s and (s[1] + 2) * s[5] > time then -- another window: all that may count counts as this one's
    current = s[2]
    if (s[1] + 1) * s[5] > time then current = current + s[3] end
    current = math.min(current, capacity)
  end
  local now = math.max(time, number * window)
  local rest = (number + 1) * window - now
  local function used() return current + floordiv(previous * rest + window - 1, window) end
  if s and (s[4] ~= capacity or s[5] ~= window) then
    if capacity > s[4] and used() >= s[4] then current = math.min(capacity, current + capacity - s[4]) end
    local this, last = current, previous
    convert = function() write(this, last) end
  end
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
    if n ~= 0 then write(current, previous) end
    return n
  end, convert
end

-- The log is a sorted set: score = instant; member = running total, tokens and capacity then, the total of 16 digits, so
-- that entries of one instant stand in their order. What a span of it holds is the difference of two totals.

local function add(key, at, total, n, capacity)
  redis.call('ZADD', key, string.format('%.0f', at), string.format('%016.0f %.0f %.0f', total, n, capacity))
end

local function parse(text, score)
  local s = numbers(text)
  return {total = s[1], n = s[2], capacity = s[3], at = tonumber(score)}
end

local function entry(key, rank)
  local found = redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')
  return found[1] and parse(found[1], found[2])
end

local function expireLog(key, newest, window)
  redis.call('PEXPIRE', key, string.format('%.0f', milliseconds(newest + window - time)))
end

-- gives back n tokens that were taken at the instant at: from there on, the entries are written anew
local function refundLog(key, n, window, first, at)
  local rank = math.max(first, redis.call('ZCOUNT', key, '-inf', string.format('(%.0f', at)))
  local found = redis.call('ZRANGE', key, rank, -1, 'WITHSCORES')
  if tonumber(found[2]) ~= at then return end
  redis.call('ZREMRANGEBYRANK', key, rank, -1)
  local total
  for i = 1, #found, 2 do
    local e = parse(found[i], found[i + 1])
    total = total or e.total - e.n
    local back = e.at == at and math.min(n, e.n) or 0
    n, total = n - back, total + e.n - back
    if e.n > back then add(key, e.at, total, e.n - back, e.capacity) end
  end
  local newest = entry(key, -1)
  if newest then expireLog(key, newest.at, window) end
end

local function log(key, n, capacity, window, _, at)
  local now, newest, size = time, entry(key, -1), redis.call('ZCARD', key)
  local used, total, first, convert = 0, 0, 0, nil -- first: the rank of the oldest entry that counts
  if newest then
    now = math.max(now, newest.at)
    first = redis.call('ZCOUNT', key, '-inf', string.format('%.0f', now - window))
    if first < size then
      local oldest = entry(key, first)
      used, total = newest.total - oldest.total + oldest.n, newest.total
      local more = capacity - newest.capacity
      if more > 0 and used >= newest.capacity then -- what it would gain counts as its newest entry does
        used, total = used + more, total + more
        convert = function() add(key, newest.at, total, more, capacity) end
      end
    end
  end
  local last = used > 0 and newest.at or 0
  if op == 'refund' then
    return true, {now, used, last, 0}, {now, used, last, 0}, function() refundLog(key, n, window, first, at) end, convert
  end
  if op == 'drain' then n = math.max(0, math.min(n, capacity - used)) end
  local allowed, blocking = used + n <= capacity, 0
  if not allowed and n <= capacity then -- the oldest entry whose going makes room: a binary search over ranks
    local low, high = first, size - 1
    while low < high do
      local middle = floordiv(low + high, 2)
      if total - entry(key, middle).total + n <= capacity then high = middle else low = middle + 1 end
    end
    blocking = entry(key, low).at
  end
  return allowed, {now, used, last, blocking}, {now, used + n, n > 0 and now or last, blocking}, function()
    if n == 0 then return 0 end
    if first == size then redis.call('DEL', key) elseif first > 0 then redis.call('ZREMRANGEBYRANK', key, 0, first - 1) end
    add(key, now, total + n, n, capacity)
    expireLog(key, now, window)
    return n
  end, convert
end

local algorithms = {b = bucket, f = fixed, c = counter, l = log}
local before, after, writes, converts, all = {}, {}, {}, {}, true
for i = 1, #KEYS do
  local arg = (i - 1) * 6 + 2
  local allowed, was, is, write, convert = algorithms[ARGV[arg]](KEYS[i], tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2]),
    tonumber(ARGV[arg + 3]), tonumber(ARGV[arg + 4]), tonumber(ARGV[arg + 5]))
  all, writes[i] = all and allowed, write
  converts[#converts + 1] = convert
  before[#before + 1], after[#after + 1] = allowed and 1 or 0, 1
  for j = 1, 4 do
    before[#before + 1], after[#after + 1] = was[j], is[j]
  end
end
if op ~= 'peek' then
  for i = 1, #converts do converts[i]() end
  for i = 1, all and #KEYS or 0 do
    local taken = writes[i]()
    if op == 'drain' then after[(i - 1) * 5 + 1] = taken end
  end
end
return all and after or before
