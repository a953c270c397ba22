/* Three keys want to be held where two may: creators that reserve, or take over the place of a key they evict; an evictor.
 *
 * Checked: at no instant are more than MAX keys live; in the end Len counts them.
 *
 * Faults, each of which must be found:
 *   LATE      a place is taken after the key went live
 *   FREED     the place of an evicted key is given up and kept as well
 *   EARLY     a place is given up before its key is dead
 */
#define KEYS 3
#define MAX 2

bit live[KEYS];
short held;
byte running;

inline count() {
  d_step { i = 0; n = 0; do :: i < KEYS -> n = n + live[i]; i++ :: else -> break od; assert(n <= MAX); i = 0; n = 0 }
}

proctype creator(byte k) {
  byte i, n, victim;
  bit reserved, uncounted;
#ifdef LATE
  if :: held < MAX -> reserved = 1; uncounted = 1 :: else fi;
#else
  atomic { if :: held < MAX -> held++; reserved = 1 :: else fi };
#endif
  if
  :: reserved
  :: else ->
     if :: victim = 0 :: victim = 1 :: victim = 2 fi;
     atomic { if :: live[victim] -> live[victim] = 0; reserved = 1 :: else fi };
#ifdef FREED
     if :: reserved -> held-- :: else fi
#endif
  fi;
  if
  :: reserved ->
     atomic { if :: !live[k] -> live[k] = 1; reserved = 0; count() :: else fi };
     if
     :: reserved && !uncounted -> held--
     :: !reserved && uncounted -> held++
     :: else
     fi
  :: else
  fi;
  running--
}

proctype evictor() {
  bit won;
#ifdef EARLY
  if :: live[0] -> held--; atomic { if :: live[0] -> live[0] = 0 :: else -> held++ fi } :: else fi;
#else
  atomic { if :: live[0] -> live[0] = 0; won = 1 :: else fi };
  if :: won -> held-- :: else fi;
#endif
  running--
}

init {
  byte i, n;
  atomic { running = 5; run creator(0); run creator(1); run creator(2); run creator(0); run evictor() }
  running == 0;
  do :: i < KEYS -> n = n + live[i]; i++ :: else -> break od;
  assert(n == held)
}
