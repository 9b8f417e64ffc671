-- For wrk: single sentences of a file, one per request; each thread begins at another place.
--   wrk -t1 -c64 -d6s --latency -s benches/load/post.lua http://127.0.0.1:5000 -- test.de
local lines = {}
local counter = 0
function setup(thread) thread:set("id", counter); counter = counter + 1 end
function init(args)
  for line in io.lines(args[1] or "test.de") do
    lines[#lines + 1] = line:gsub('[\\"]', '\\%0')
  end
  at = id * 977

end
function request()
  at = at + 1
  local q = lines[at % #lines + 1]
  return wrk.format("POST", "/translate", { ["Content-Type"] = "application/json" },
    '{"q":"' .. q .. '","source":"de","target":"en"}')
end
local bad = 0
function response(status) if status ~= 200 then bad = bad + 1 end end
function done(summary, latency)
  io.write(string.format("requests %d, errors %d, p50 %.1f ms, p99 %.1f ms, per second %.1f\n", summary.requests,
    summary.errors.status + summary.errors.timeout, latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.requests / summary.duration * 1e6))
end
