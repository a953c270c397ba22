
-- The log is a sorted set: score = instant; member = running total and tokens, the total of 16 digits, so that entries of
-- one instant stand in their order. What a span of it holds is the difference of two totals.

local function add(key, at, total, n)
  redis.call('ZADD', key, at, string.format('%016.0f %.0f', total, n))
end

local function parse(text, score)
  local total, n = string.match(text, '^(%d+) (%d+)$')
  return total and {total = tonumber(total), n = tonumber(n), at = tonumber(score)}
end

local function entry(key, rank)
  local found = redis.pcall('ZRANGE', key, rank, rank, 'WITHSCORES') -- an error, which has no first, if it is no log
  return found[1] and parse(found[1], found[2])
end

local function expireLog(key, newest, window)
  redis.call('PEXPIRE', key, expiry(newest + window - time))
end

-- writes the entries from a rank on anew, without n tokens of those taken at the instant at; total: of those before them, or
-- nil for what it is. Returns the last one's total.
local function rewrite(key, rank, total, n, at)
  local found = redis.call('ZRANGE', key, rank, -1, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', key, rank, -1)
  for i = 1, #found, 2 do
    local e = parse(found[i], found[i + 1])
    total = total or e.total - e.n
    local back = e.at == at and min(n, e.n) or 0
    n, total = n - back, total + e.n - back
    if e.n > back then add(key, e.at, total, e.n - back) end
  end
  return total
end

-- gives back n tokens that were taken at the instant at
local function refundLog(key, n, window, first, at)
  local rank = max(first, redis.call('ZCOUNT', key, '-inf', string.format('(%.0f', at)))
  local found = entry(key, rank)
  if not found or found.at ~= at then return end
  rewrite(key, rank, nil, n, at)
  local newest = entry(key, -1)
  if newest then expireLog(key, newest.at, window) end
end

function algorithms.l(key, n, capacity, window, _, at)
  local now, newest = time, entry(key, -1)
  local size = newest and redis.call('ZCARD', key) or 0
  local used, total, first = 0, 0, 0 -- first: the rank of the oldest entry that counts
  if newest then
    now = max(now, newest.at)
    first = redis.call('ZCOUNT', key, '-inf', now - window)
    if first < size then
      local oldest = entry(key, first)
      used, total = newest.total - oldest.total + oldest.n, newest.total
    end
  end
  local last, allowed, blocking = used > 0 and newest.at or 0, 1, 0
  if op == 'refund' then
    return {1, now, used, last, 0}, n, 0, newest and function() refundLog(key, n, window, first, at) end
  end
  if op == 'drain' then n = max(0, min(n, capacity - used)) end
  if n > 0 and used + n > capacity then
    allowed = 0
    if n <= capacity then -- the oldest entry whose going makes room: a binary search over ranks
      local low, high = first, size - 1
      while low < high do
        local middle = floordiv(low + high, 2)
        if total - entry(key, middle).total + n <= capacity then high = middle else low = middle + 1 end
      end
      blocking = entry(key, low).at
    end
  end
  if allowed == 0 or n == 0 then
    -- The entries don't tell under which window they were made; one that has become longer keeps them for longer. What
    -- differs by 2 ms was rounded.
    local short = used > 0 and redis.call('PTTL', key) + 2 < expiry(last + window - time)
    return {allowed, now, used, last, blocking}, 0, 0, short and function() expireLog(key, last, window) end
  end
  return {1, now, used + n, now, 0}, n, 0, function()
    if first == size then redis.call('DEL', key) elseif first > 0 then redis.call('ZREMRANGEBYRANK', key, 0, first - 1) end
    if total + n >= 2 ^ 53 then total = rewrite(key, 0, 0, 0, 0) end -- a log that was never empty for months
    add(key, now, total + n, n)
    expireLog(key, now, window)
  end
end
