/* Two tables, A and B, move into one, C; but somebody else may have begun to move B, to D; and C is moved on, to E.
 * The key is B's. All happens at one instant: the key has CAP tokens, its word is 1 + the tokens taken.
 *
 * Checked: no more than CAP tokens are granted.
 *
 * Faults, each of which must be found:
 *   SKIPJOIN   C is moved on although B has not joined or is not drained
 *   TWOHEIRS   the merge moves B although it goes another way already
 */
#define CAP 1
#define FROZEN 8
#define NONE 9
#define B 0
#define C 1
#define D 2
#define E 3

mtype:ctl = { EMPTY, KEY, SEALED };
mtype:ctl ctrl[4] = EMPTY;
byte word[4], next[4] = NONE;
bit begun;              /* A moves to C: from now on C can be met */
byte granted, running;

inline help(t) {
  w = word[t];
  do
  :: w & FROZEN -> break
  :: else -> atomic { if :: word[t] == w -> word[t] = w | FROZEN :: else fi; w = word[t] }
  od;
  n = next[t];
  do
  :: w == FROZEN -> break
  :: w != FROZEN && ctrl[n] == EMPTY ->
     if
     :: next[n] != NONE -> break
     :: else -> atomic { if :: ctrl[n] == EMPTY -> ctrl[n] = KEY :: else fi }
     fi
  :: w != FROZEN && ctrl[n] == SEALED -> break
  :: w != FROZEN && ctrl[n] == KEY -> atomic { if :: word[n] == 0 -> word[n] = w & 7 :: else fi }; break
  od;
  w = 0; n = 0
}

inline drain(t) {
  if :: ctrl[t] == EMPTY -> atomic { if :: ctrl[t] == EMPTY -> ctrl[t] = SEALED :: else fi } :: else fi;
  if :: ctrl[t] == KEY -> help(t) :: else fi
}

/* settle finishes every move into C */
inline settle() {
#ifdef TWOHEIRS
  next[B] = C;
#else
  atomic { if :: next[B] == NONE -> next[B] = C :: else fi };
#endif
  if :: next[B] == C -> drain(B) :: else fi
}

proctype taker() {
  byte t, w, n;
  t = B;
  do
  :: ctrl[t] == SEALED -> t = next[t]
  :: ctrl[t] == EMPTY ->
     if
     :: next[t] != NONE -> atomic { if :: ctrl[t] == EMPTY -> ctrl[t] = SEALED :: else fi }
     :: else -> atomic { if :: ctrl[t] == EMPTY -> ctrl[t] = KEY :: else fi }
     fi
  :: ctrl[t] == KEY ->
     w = word[t];
     if
     :: (w & FROZEN) || w == 0 && next[t] != NONE -> help(t); t = next[t]
     :: else ->
        if
        :: w > CAP -> break
        :: else ->
           atomic {
             if
             :: word[t] == w -> word[t] = (w == 0 -> 2 : w + 1); granted++; assert(granted <= CAP); break
             :: else
             fi
           }
        fi
     fi
  od;
  running--
}

proctype merger() {
  byte w, n;
  begun = 1;
  settle();
  running--
}

proctype rival() {
  byte w, n;
  atomic { if :: next[B] == NONE -> next[B] = D :: else fi };
  if :: next[B] == D -> drain(B) :: else fi;
  running--
}

proctype climber() {
  byte w, n;
  if
  :: begun ->
#ifndef SKIPJOIN
     settle();
#endif
     next[C] = E;
     drain(C)
  :: else
  fi;
  running--
}

init {
  atomic { running = 5; run taker(); run taker(); run merger(); run rival(); run climber() }
}
