
if #KEYS == 1 then -- as below, shorter
  local letter, n, capacity, x, y, at = struct.unpack('<c1ddddd', ARGV[2])
  local reply, taken, us, value = algorithms[letter](KEYS[1], n, capacity, x, y, at)
  if value then save(KEYS[1], us, value) end
  if op == 'drain' then reply[1] = taken end
  return reply
end

local function rule(i, nothing)
  local letter, n, capacity, x, y, at = struct.unpack('<c1ddddd', ARGV[i + 1])
  local reply, taken, us, value = algorithms[letter](KEYS[i], nothing or n, capacity, x, y, at)
  return {reply = reply, taken = taken, us = us, value = value}
end

local decided, all, replies = {}, true, {}
for i = 1, #KEYS do
  decided[i] = rule(i)
  all = all and decided[i].reply[1] > 0
end
for i, d in ipairs(decided) do
  if not all and d.reply[1] > 0 then d = rule(i, 0) end -- nothing is taken after all
  if d.value then save(KEYS[i], d.us, d.value) end
  if op == 'drain' then d.reply[1] = d.taken end
  for j = 1, 5 do replies[#replies + 1] = d.reply[j] end
end
return replies
