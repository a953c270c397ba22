/* One key in a chain of tables, under takers, an evictor, a reset, movers and whoever helps.
 *
 * Checked: in no interval [a, b] are more than CAP + (b - a) tokens granted; Len never exceeds MaxKeys; in the end it
 * counts the live words, of which there is at most one.
 *
 * The bucket has CAP tokens and gains one a tick: payload = 1 + V - tokens, V(t) = CAP + t, so 1 is full at 0.
 * Steps are as fine as the atomic operations of the code; a CAS, with what is local around it, is an atomic block.
 * Macros choose who runs: EVICT, RESET, MOVE, MOVE2; MARKS: calls move the mark on; COARSE: fewer instants; BOUND: MaxKeys
 * is 1.
 *
 * Faults, each of which must be found:
 *   BLINDCARRY  a word is carried by a plain store
 *   NOFLOOR     a late call counts at its own time, or the mark it has read before the word
 *   LOSEWORD    eviction leaves 0 behind
 *   ONEFLAG     a frozen word looks like an evicted one to whoever revives
 *   NOSEAL      a call passes an empty slot of a moving table without sealing it
 *   EARLYMOVE   a table is moved on while words are still carried into it
 *   STALEJUDGE  eviction takes a word that it has not judged
 */
#define CAP 2
#define TMAX 3
#ifdef BOUND
#define MAX 1
#else
#define MAX 2
#endif
#define EVICTED 32
#define FROZEN 64
#define VAL(w) ((w)&31)
#define LIVE(w) (VAL(w)!=0 && ((w)&(EVICTED|FROZEN))==0)
#define IDLE(w,t) (VAL(w)-1 <= (t))
#define V(t) (CAP+(t))
#ifdef ONEFLAG
#define STUCK(w) (VAL(w)==0)
#else
#define STUCK(w) (!LIVE(w))
#endif

mtype:ctl = { EMPTY, KEY, SEALED };
mtype:ctl ctrl[3] = EMPTY;
byte word[3], floor[3], mark[3];
bit next[3], moved[3];
byte dir;               /* the table that the directory shows */
byte granted[4];        /* tokens by the instant they were counted at, since the last reset */
short held;             /* Len */
byte running;

#ifdef COARSE
inline anytime(now) { if :: now = 0 :: now = 2 fi }
#else
inline anytime(now) { if :: now = 0 :: now = 1 :: now = 3 fi }
#endif

inline never_too_many() {
  d_step {
    a = 0;
    do
    :: a <= TMAX ->
       sum = 0; b = a;
       do
       :: b <= TMAX -> sum = sum + granted[b]; assert(sum <= CAP + (b - a)); b++
       :: else -> break
       od;
       a++
    :: else -> break
    od;
    a = 0; b = 0; sum = 0
  }
}

/* help moves the key's slot from t to t+1 */
inline help(t) {
  w = word[t];
  do
  :: w & FROZEN -> break
  :: else ->
     atomic {
       carry = w;                                              /* judge: pure in w and the next floor */
       if :: VAL(w) == 0 || IDLE(w, floor[t+1]) -> carry = 0 :: else fi;
       if
       :: word[t] == w ->
          word[t] = FROZEN | carry;
          drop = (carry == 0 && LIVE(w))
       :: else
       fi;
       carry = 0; w = word[t]
     };
     if :: drop -> atomic { held--; drop = 0 } :: else fi
  od;
  if
  :: VAL(w) != 0 ->
     do
     :: ctrl[t+1] == EMPTY ->
        if
        :: next[t+1] -> break
        :: else -> atomic { if :: ctrl[t+1] == EMPTY -> ctrl[t+1] = KEY :: else fi }
        fi
     :: ctrl[t+1] == SEALED -> break
     :: ctrl[t+1] == KEY ->
#ifdef BLINDCARRY
        word[t+1] = w & (31|EVICTED);
#else
        atomic { if :: word[t+1] == 0 -> word[t+1] = w & (31|EVICTED) :: else fi };
#endif
        break
     od
  :: else
  fi;
  w = 0
}

inline drain(t) {
  if :: ctrl[t] == EMPTY -> atomic { if :: ctrl[t] == EMPTY -> ctrl[t] = SEALED :: else fi } :: else fi;
  if :: ctrl[t] == KEY -> help(t) :: else fi;
  moved[t] = 1;
  atomic { if :: dir == t -> dir = t+1 :: else fi }
}

proctype taker(byte n; bit late) {
  byte now, at, w, t, to, carry, a, b, sum;
  bit drop, reserved, fin;
  if :: late :: else -> anytime(now) fi;                      /* a late one's time is 0 */
  t = dir;
#ifdef NOFLOOR
  at = mark[t];
#endif
  do
  :: fin -> break
  :: else ->
     if
     :: ctrl[t] == SEALED -> t++
     :: ctrl[t] == EMPTY ->
        if
        :: next[t] ->
#ifdef NOSEAL
           t++
#else
           atomic { if :: ctrl[t] == EMPTY -> ctrl[t] = SEALED :: else fi }
#endif
        :: else ->
           if
           :: reserved
           :: else -> atomic { if :: held < MAX -> held++; reserved = 1 :: else -> fin = 1 fi }
           fi;
           if :: fin :: else -> atomic { if :: ctrl[t] == EMPTY -> ctrl[t] = KEY :: else fi } fi
        fi
     :: ctrl[t] == KEY ->
        w = word[t];
        if
        :: STUCK(w) && next[t] -> help(t); t++
        :: else ->
           atomic {                                            /* Table.At, and the step */
#ifndef NOFLOOR
             at = mark[t];
#endif
             if :: now > at -> at = now :: else fi;
             to = 0; if :: VAL(w) != 0 -> to = VAL(w) - 1 :: else fi;
             if :: to < at -> to = at :: else fi;              /* max(word, V - CAP) */
             to = to + n
           };
#ifdef MARKS
           atomic { if :: mark[t] < now -> mark[t] = now :: else fi };
#endif
           if
           :: to > V(at) -> fin = 1                            /* refused */
           :: else ->
              if
              :: LIVE(w) || reserved
              :: else -> atomic { if :: held < MAX -> held++; reserved = 1 :: else -> fin = 1 fi }
              fi;
              if
              :: fin
              :: else ->
                 atomic {
                   if
                   :: word[t] == w ->
                      word[t] = to + 1; granted[at] = granted[at] + n; fin = 1;
                      never_too_many();
                      if :: LIVE(w) :: else -> reserved = 0 fi /* the place is the key's now */
                   :: else
                   fi;
                   w = 0; to = 0
                 }
              fi
           fi
        fi
     fi
  od;
  if :: reserved -> held-- :: else fi;
  assert(held <= MAX);
  atomic { now = 0; at = 0; w = 0; t = 0; to = 0; running-- }
}

/* evicts the key where it is if it is idle */
proctype evictor() {
  byte now, w, t;
  bit won;
  anytime(now); t = dir;
  if
  :: ctrl[t] == KEY ->
     w = word[t];
     if
     :: LIVE(w) && IDLE(w, now) ->
#ifdef MARKS
        atomic { if :: mark[t] < now -> mark[t] = now :: else fi };
#endif
#ifdef LOSEWORD
        atomic { if :: word[t] == w -> word[t] = 0; won = 1 :: else fi };
#else
#ifdef STALEJUDGE
        atomic { if :: LIVE(word[t]) -> word[t] = EVICTED | 1; won = 1 :: else fi };
#else
        atomic { if :: word[t] == w -> word[t] = w | EVICTED; won = 1 :: else fi };
#endif
#endif
        if :: won -> held-- :: else fi
     :: else
     fi
  :: else
  fi;
  atomic { now = 0; w = 0; t = 0; won = 0; running-- }
}

proctype resetter() {
  byte w, t, carry;
  bit drop, won;
  t = dir;
  do
  :: ctrl[t] == EMPTY ->
     if
     :: next[t] -> atomic { if :: ctrl[t] == EMPTY -> ctrl[t] = SEALED :: else fi }
     :: else -> break
     fi
  :: ctrl[t] == SEALED -> t++
  :: ctrl[t] == KEY ->
     w = word[t];
     if
     :: (w & FROZEN) || VAL(w) <= 1 ->
        if :: next[t] -> help(t); t++ :: else -> break fi
     :: else ->
        atomic {
          if
          :: word[t] == w ->
             word[t] = EVICTED | 1; won = LIVE(w);
             granted[0] = 0; granted[1] = 0; granted[2] = 0; granted[3] = 0;
             w = 0; break
          :: else
          fi
        }
     fi
  od;
  if :: won -> held-- :: else fi;
  atomic { w = 0; t = 0; won = 0; running-- }
}

proctype mover() {
  byte now, at, w, t, carry;
  bit drop;
#ifdef MOVE2
  now = 2;
#else
  anytime(now);
#endif
  t = dir;
#ifndef EARLYMOVE
  if :: t > 0 && !moved[t-1] -> drain(t-1) :: else fi;
#else
  if :: next[t] && t < 1 -> t++ :: else fi;
#endif
  if
  :: t < 2 && !next[t] ->
     at = mark[t];
     if :: floor[t] > at -> at = floor[t] :: else fi;
     if :: now > at -> at = now :: else fi;
     atomic { if :: !next[t] -> floor[t+1] = at; mark[t+1] = at; next[t] = 1 :: else fi }
  :: else
  fi;
  if :: t < 2 && next[t] -> drain(t) :: else fi;
  atomic { now = 0; at = 0; w = 0; t = 0; running-- }
}

init {
  byte i, live;
  atomic {
    running = 2; run taker(2, 0);
#ifdef MOVE2
    run taker(2, 1);
#else
    run taker(2, 0);
#endif
#ifdef EVICT
    running++; run evictor();
#endif
#ifdef RESET
    running++; run resetter();
#endif
#ifdef MOVE
    running++; run mover();
#endif
#ifdef MOVE2
    running++; run mover();
#endif
  }
  running == 0;
  /* live: the word of the last table that has one, if it isn't dead; one frozen and not carried yet counts too */
  i = 0;
  do
  :: i < 3 ->
     if
     :: LIVE(word[i]) -> live++
     :: (word[i] & FROZEN) && VAL(word[i]) != 0 && !(word[i] & EVICTED) && word[i+1] == 0 -> live++
     :: else
     fi;
     i++
  :: else -> break
  od;
  assert(live == held && live <= 1)
}
