
-- The fixed window. Stored: its number since 1970, count, capacity, window.
function algorithms.f(key, n, capacity, window, _, at)
  local number, count, converted = floordiv(time, window), 0, false
  local ofNumber, used, ofCapacity, ofWindow = state(key, '<dddd', 4)
  if ofNumber then
    if (ofNumber + 1) * ofWindow > time then -- it isn't past
      count = used
      if ofWindow == window then number = ofNumber end -- a newer one than now's stands; another rule's count is this one's
      converted = ofCapacity ~= capacity or ofWindow ~= window
    end
  end
  if op == 'refund' then
    n = floordiv(at, window) == number and -min(n, count) or 0
  elseif op == 'drain' then
    n = max(0, min(n, capacity - count))
  end
  local allowed = (n <= 0 or count + n <= capacity) and 1 or 0 -- a lowered capacity can be below the count
  if allowed == 0 then n = 0 end
  count = count + n
  local reply = {allowed, max(time, number * window), number, count, 0}
  if n == 0 and not converted then return reply, n end
  local us = count > 0 and (number + 1) * window - time or 0
  return reply, n, us, struct.pack('<dddd', number, count, capacity, window)
end
