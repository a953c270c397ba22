/* The bound before which no key is idle: creators lower it, a lap over all keys raises it.
 *
 * Checked: at no instant is a key whose creation has ended idle before the bound.
 *
 * Faults, each of which must be found:
 *   ONEBOUND   the lap works on the bound that is in force
 *   LOWERFIRST a creator lowers the bound before its key is live
 */
#define KEYS 2
#define NEVER 9

byte idleAt[KEYS] = NEVER;      /* NEVER: not live */
byte bound[2] = NEVER;
bit current;
bit made[KEYS];          /* its creation has ended */
byte running;

inline lower(v) {
  atomic { if :: bound[0] > v -> bound[0] = v :: else fi };
  atomic { if :: bound[1] > v -> bound[1] = v :: else fi }
}

proctype creator(byte k, v) {
#ifdef LOWERFIRST
  lower(v);
#endif
  idleAt[k] = v;
#ifndef LOWERFIRST
  lower(v);
#endif
  made[k] = 1;
  running--
}

proctype lap() {
  byte k, v, rounds, form;
  do
  :: rounds == 2 -> break
  :: else ->
#ifdef ONEBOUND
     form = current;
#else
     form = 1 - current;
#endif
     bound[form] = NEVER;
     k = 0;
     do
     :: k == KEYS -> break
     :: else -> v = idleAt[k]; if :: v != NEVER -> lower(v) :: else fi; k++
     od;
     current = form;
     rounds++
  od;
  running--
}

proctype watcher() {
  d_step {
    assert(!made[0] || bound[current] <= idleAt[0]);
    assert(!made[1] || bound[current] <= idleAt[1]);
    running--
  }
}

init {
  atomic { running = 4; run creator(0, 3); run creator(1, 5); run lap(); run watcher() }
}
