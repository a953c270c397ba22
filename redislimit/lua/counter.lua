
-- The sliding counter. Stored: the window's number since 1970, its count, the last one's, capacity, window.
function algorithms.c(key, n, capacity, window, _, at)
  local number, current, previous, converted = floordiv(time, window), 0, 0, false
  local ofNumber, this, last, ofCapacity, ofWindow = state(key, '<ddddd', 5)
  if ofNumber then
    converted = ofCapacity ~= capacity or ofWindow ~= window
    if ofWindow == window and ofNumber >= number then
      number, current, previous = ofNumber, this, last
    elseif ofWindow == window and ofNumber == number - 1 then
      previous = this
    elseif ofWindow ~= window and (ofNumber + 2) * ofWindow > time then -- all that may count counts as this window's
      if (ofNumber + 1) * ofWindow > time then this = this + last end
      current = min(this, floordiv(2 ^ 53 - 1, window)) -- so that the products stay exact
    end
  end
  local now = max(time, number * window)
  local rest = (number + 1) * window - now
  local used = current + ceildiv(previous * rest, window)
  local allowed = 1
  if op == 'refund' then
    local taken = floordiv(at, window)
    n = taken == number and -min(n, current) or taken == number - 1 and -min(n, previous) or 0
    if taken == number then current = current + n else previous = previous + n end
  else
    if op == 'drain' then n = max(0, min(n, capacity - used)) end
    if n > 0 and used + n > capacity then allowed, n = 0, 0 end
    current = current + n
  end
  local reply = {allowed, now, number, current, previous}
  if n == 0 and not converted then return reply, n end
  local ends = current > 0 and number + 2 or previous > 0 and number + 1 or 0
  return reply, n, ends * window - time, struct.pack('<ddddd', number, current, previous, capacity, window)
end
