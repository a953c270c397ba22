
-- The token bucket: debt is what a full one has more. Stored: instant, debt, capacity, rate, unit.
function algorithms.b(key, cost, capacity, rate, unit)
  local now, debt, converted = time, 0, false
  local at, owed, ofCapacity, ofRate, ofUnit = state(key, '<ddddd', 5)
  if at then
    local elapsed = max(0, time - at)
    now = max(now, at)
    if elapsed <= owed / ofRate then debt = max(0, owed - elapsed * ofRate) end
    if debt > 0 and (ofCapacity ~= capacity or ofRate ~= rate or ofUnit ~= unit) then -- tokens are kept
      local tokens = floordiv(ofCapacity - debt, ofUnit)
      local part = (ofCapacity - debt - tokens * ofUnit) / ofUnit * unit -- of a token: rounded down, by a unit more than enough
      debt = max(0, capacity - tokens * unit - max(0, floor(part) - 1))
      converted = true
    end
  end
  if op == 'refund' then
    cost = -min(cost, debt)
  elseif op == 'drain' then
    cost = min(cost, floordiv(capacity - debt, unit) * unit)
  end
  local allowed = debt + cost <= capacity and 1 or 0
  if allowed == 0 then cost = 0 end
  debt = debt + cost
  local reply, taken = {allowed, now, debt, 0, 0}, cost / unit
  if cost == 0 and not converted then return reply, taken end
  return reply, taken, ceildiv(debt, rate) + now - time, struct.pack('<ddddd', now, debt, capacity, rate, unit)
end
