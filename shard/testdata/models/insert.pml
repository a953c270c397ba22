/* Claims of slots in one table that moves meanwhile: creators, a call that only looks, a carrier, a mover.
 *
 * A slot is ctrl, one more key word and the kernel's word; keys are (1,1), (1,2) and (2,1), so two differ in their last
 * word only. All walk the slots in one order.
 *
 * Checked: a key has one slot; once a call for a key went on to the next table, nobody makes the key live in this one;
 * slots are never more than claims and the room kept for the carrier.
 *
 * Faults, each of which must be found:
 *   PASSUNDECIDED  a look at a moving table goes on from a word that isn't decided
 *   UNCLAIMED      a word of a slot that another claimed is decided without a claim
 *   OVERWRITE      a word is written without looking whether it is decided
 */
#define SLOTS 4
#define LIMIT 3
#define EMPTY 0
#define SEALED 9
#define LIVE 1
#define FROZEN 2

byte ctrl[SLOTS], more[SLOTS], word[SLOTS];
byte claimed = 1;       /* the carrier's room */
bit next, passed[4];    /* passed: by key number */
byte running;

#define NUMBER (kc + km - 2 + (kc == 2))  /* (1,1) 0, (1,2) 1, (2,1) 2 */

inline check() {
  d_step {
    i = 0; used = 0;
    do
    :: i < SLOTS -> if :: ctrl[i] != EMPTY && ctrl[i] != SEALED -> used++ :: else fi; i++
    :: else -> break
    od;
    assert(used <= claimed);
    i = 0; used = 0
  }
}

/* seek ends with s at the key's slot, or with s = SLOTS if the call goes on, is refused a slot or finds nothing */
inline seek(claims, carries) {
  s = 0; state = 0;
  do
  :: s == SLOTS -> break
  :: else ->
     mine = carries;
     do
     :: ctrl[s] != EMPTY -> break
     :: ctrl[s] == EMPTY ->
        if
        :: next ->
           if
           :: carries -> state = 2; break
           :: else -> atomic { if :: ctrl[s] == EMPTY -> ctrl[s] = SEALED :: else fi }
           fi
        :: else ->
           if
           :: carries -> atomic { if :: ctrl[s] == EMPTY -> ctrl[s] = kc; check() :: else fi }
           :: claims ->
              atomic { if :: claimed < LIMIT -> claimed++ :: else -> state = 2 fi };
              if
              :: state == 2 -> break
              :: else -> atomic { if :: ctrl[s] == EMPTY -> ctrl[s] = kc; mine = 1; check() :: else -> claimed-- fi }
              fi
           :: !claims && !carries -> state = 2; break
           fi
        fi
     od;
     if
     :: state == 2 -> s = SLOTS
     :: ctrl[s] == SEALED -> state = 1; s = SLOTS             /* passed */
     :: state != 2 && ctrl[s] != SEALED && ctrl[s] != kc -> s++
     :: state != 2 && ctrl[s] == kc ->
        if
        :: more[s] == 0 ->
#ifdef PASSUNDECIDED
           if
           :: !claims && !carries -> if :: next -> state = 1 :: else -> state = 2 fi; s = SLOTS
           :: else
           fi;
           if :: s == SLOTS -> goto undecided :: else fi;
#endif
           if
           :: mine || next
           :: else ->
              if
              :: claims ->
#ifndef UNCLAIMED
                 atomic { if :: claimed < LIMIT -> claimed++ :: else -> state = 2 fi };
#else
                 skip;
#endif
              :: else -> state = 2
              fi
           fi;
           if
           :: state == 2 -> s = SLOTS
           :: else ->
#ifdef OVERWRITE
              more[s] = km
#else
              atomic { if :: more[s] == 0 -> more[s] = km :: else fi }
#endif
           fi
        :: else
        fi;
#ifdef PASSUNDECIDED
undecided:
#endif
        if
        :: s == SLOTS
        :: s != SLOTS && more[s] == km -> break
        :: s != SLOTS && more[s] != km -> s++
        fi
     fi
  od
}

inline freeze() { atomic { if :: word[s] != FROZEN -> word[s] = FROZEN :: else fi } }

proctype creator(byte kc, km) {
  byte s, state, i, used, w;
  bit mine;
  seek(1, 0);
  if
  :: s == SLOTS && state == 1 -> passed[NUMBER] = 1
  :: s == SLOTS && state != 1
  :: s < SLOTS ->
     w = word[s];
     if
     :: w == LIVE
     :: w != LIVE && (next || w == FROZEN) -> freeze(); passed[NUMBER] = 1
     :: w == 0 && !next ->
        atomic {
          if
          :: word[s] == 0 -> word[s] = LIVE; assert(!passed[NUMBER])
          :: else
          fi
        }
     fi
  fi;
  running--
}

proctype looker(byte kc, km) {
  byte s, state, i, used;
  bit mine;
  seek(0, 0);
  if
  :: s == SLOTS && state == 1 -> passed[NUMBER] = 1
  :: s == SLOTS && state != 1
  :: s < SLOTS -> if :: next -> freeze(); passed[NUMBER] = 1 :: else fi
  fi;
  running--
}

proctype carrier(byte kc, km) {
  byte s, state, i, used;
  bit mine;
  seek(0, 1);
  assert(s < SLOTS || next);
  if :: s < SLOTS -> atomic { if :: word[s] == 0 -> word[s] = LIVE; assert(!passed[NUMBER]) :: else fi } :: else fi;
  running--
}

proctype mover() {
  byte s;
  next = 1;
  do
  :: s == SLOTS -> break
  :: else ->
     if :: ctrl[s] == EMPTY -> atomic { if :: ctrl[s] == EMPTY -> ctrl[s] = SEALED :: else fi } :: else fi;
     if :: ctrl[s] != SEALED -> freeze() :: else fi;
     s++
  od;
  running--
}

init {
  byte i, j;
  atomic {
    running = 4;
#ifdef CARRY
    run carrier(1, 2);
#else
    run looker(1, 2);
#endif
    run creator(1, 1); run creator(1, 2); 
#ifdef MOVE
    run mover()
#else
    run creator(2, 1)
#endif
  }
  running == 0;
  do
  :: i < SLOTS ->
     j = i + 1;
     do
     :: j < SLOTS -> assert(ctrl[i] == EMPTY || ctrl[i] == SEALED || more[i] == 0 || ctrl[i] != ctrl[j] || more[i] != more[j]); j++
     :: else -> break
     od;
     i++
  :: else -> break
  od
}
