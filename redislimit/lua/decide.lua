
if #KEYS == 1 then -- as below, shorter
  local a = ARGV
  local reply, taken, us, value = algorithms[a[2]](KEYS[1], tonumber(a[3]), tonumber(a[4]), tonumber(a[5]), tonumber(a[6]), tonumber(a[7]))
  if value then save(KEYS[1], us, value) end
  if op == 'drain' then reply[1] = taken end
  return reply
end

local function rule(i, n)
  local a = (i - 1) * 6 + 2
  local reply, taken, us, value = algorithms[ARGV[a]](KEYS[i], n or tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]),
    tonumber(ARGV[a + 4]), tonumber(ARGV[a + 5]))
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
