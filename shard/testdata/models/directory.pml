/* A directory over paths of two bits, and a space below it: its entries are hints, which are put right while it is
 * doubled and halved. The tables that move: two merge into one, one is split, the last one of the space below moves up;
 * and a walk, SetParams's, moves each that is under the old rule.
 *
 * Checked: whatever a directory shows for a path, at any moment, leads to the table that has the path's keys, which is the
 * one that next leads to from where the path began; when the walk is over, every path's table is under the new rule; at
 * some instant of swing(t), the last, the directory does not show t. (It may again after that, where a copy of the
 * directory was under way: entries are hints.)
 *
 * Macros choose what there is: MERGE: the left half of the paths has two tables, which are merged, and the directory is
 * halved after that; SPLIT: that of the right half is split; SURFACE: the right half is in the space below, and moves up;
 * WALK: the walk; LOOK: a lookup, which puts entries right too.
 *
 * Faults, each of which must be found:
 *   RELOAD     halving takes one entry of a pair as it is now, not as it was compared
 *   PASSBY     the walk goes on behind the stem of a space that was given up meanwhile
 *   UNTOLD     the walk finds all of a space moved up, but leaves it to others to tell the stem
 *   NORECHECK  swing does not look whether the directory is still the one that it has set
 *   SHALLOW    swing sets half of a split where the directory has no bit for it
 */
#define NONE 99
#define DIRS 6          /* ever made */

/* Tables: 0 to 8, and those moved under the new rule 9 to 17. */
#define LEFT0 0         /* path 00 */
#define LEFT1 1         /* path 01 */
#define LEFT 2          /* paths 0x */
#define RIGHT 3         /* paths 1x; its halves are the next two */
#define RIGHT0 4
#define STEM 6         /* of the space below, for paths 1x */
#define BELOW 7         /* all that there is in it */
#define UP 8            /* where that moves up to */
#define TABLES 18
#define SPACE(t) ((t) == BELOW || (t) == BELOW + 9)
hidden byte bits[9] = { 2, 2, 1, 1, 2, 2, 1, 0, 1 };
hidden byte first[9] = { 0, 1, 0, 2, 2, 3, 2, 2, 2 };        /* path */
#define DEPTH(t) bits[(t) % 9]
#define CHILD(t, path) (next[t] == RIGHT0 && ((path) & 1) -> RIGHT0 + 1 : next[t])
#ifdef SURFACE
#define LAST BELOW
#else
#define LAST RIGHT
#endif
#ifdef MERGE
#define ROOT(path) ((path) > 1 -> LAST : (path))
#else
#define ROOT(path) ((path) > 1 -> LAST : LEFT)
#endif

byte next[TABLES] = NONE;
bit done[TABLES], new[TABLES];  /* new: under the new rule */
bit stemDone;
byte dir[2];            /* of the top space and of the one below */
byte deep[DIRS];        /* their depths */
byte entry[24];         /* four for each */
byte fresh;
bit rule;

#define INDEX(d, path) (4*(d) + ((path) >> (2 - deep[d])))
#define DONE(t) ((t) == STEM -> stemDone : done[t])

/* what t's space shows for a path after t */
#define HEIR(t, path) ((t) == STEM -> next[STEM] : (SPACE(t) && !SPACE(next[t]) -> NONE : CHILD(t, path)))

/* leads checks what the directory d shows for every path; only what sets an entry or a directory can make that wrong */
inline leads(d) {
  path_ = 0;
  do
  :: path_ < 4 ->
     to = entry[INDEX(d, path_)];
     if :: to == STEM -> to = BELOW :: else fi;
     home = ROOT(path_);
     do :: next[to] != NONE -> to = CHILD(to, path_) :: else -> break od;
     do :: next[home] != NONE -> home = CHILD(home, path_) :: else -> break od;
     assert(to == home);
     path_++
  :: else -> break
  od;
  path_ = 0; to = 0; home = 0
}

inline deepen(s, d) {
  atomic { nd = fresh; fresh++; assert(fresh <= DIRS); deep[nd] = deep[d] + 1; k = 0 };
  do
  :: k < (1 << deep[d]) -> atomic { entry[4*nd + 2*k] = entry[4*d + k]; entry[4*nd + 2*k + 1] = entry[4*d + k]; k++ }
  :: else -> break
  od;
  atomic { k = 0; if :: dir[s] == d -> dir[s] = nd; leads(nd) :: else fi; nd = 0 }
}

inline shown(t) {
  atomic {
    k = 0;
    do
    :: k < 4 -> assert(entry[INDEX(dir[SPACE(t)], k)] != t || HEIR(t, k) == NONE); k++
    :: else -> break
    od;
    k = 0
  }
}

inline swing(t) {
  do
  :: sd = dir[SPACE(t)];
#ifndef SHALLOW
     if
     :: HEIR(t, first[(t) % 9]) != NONE && DEPTH(HEIR(t, first[(t) % 9])) > deep[sd] -> deepen(SPACE(t), sd)
     :: else ->
#endif
        atomic {
          i = INDEX(sd, first[(t) % 9]);
          last = i + 1;
          if :: DEPTH(t) < deep[sd] -> last = i + (1 << (deep[sd] - DEPTH(t))) :: else fi
        };
        do
        :: i == last -> break
        :: else ->
           old = entry[i];
           if
           :: DONE(old) ->
              atomic {
                path_ = (i - 4*sd) << (2 - deep[sd]);
                heir = HEIR(old, path_);
                path_ = 0
              };
              if
              :: heir == NONE -> i++
#ifndef SHALLOW
              :: heir != NONE && DEPTH(heir) > deep[sd] -> i++
              :: heir != NONE && DEPTH(heir) <= deep[sd] ->
#else
              :: heir != NONE ->
#endif
                 atomic { if :: entry[i] == old -> entry[i] = heir; if :: SPACE(old) == 0 -> leads(sd) :: else fi :: else fi }
              fi
           :: else -> i++
           fi;
           atomic { old = 0; heir = 0 }
        od;
#ifdef NORECHECK
        shown(t);
        break
#else
        atomic { if :: dir[SPACE(t)] == sd -> shown(t); break :: else fi }
#endif
#ifndef SHALLOW
     fi
#endif
  od;
  atomic { sd = 0; i = 0; last = 0 }
}

/* puts swings t, which is done, and ends the space below if t, all that was left of it, has moved up */
inline puts(t) {
  x = t;
  do
  :: swing(x);
     if
     :: SPACE(x) && next[x] == UP && !look -> atomic { if :: next[STEM] == NONE -> next[STEM] = UP :: else fi }; stemDone = 1; x = STEM
     :: else -> break
     fi
  od;
  x = 0
}

#ifdef MERGE
proctype merger() {
  byte sd, nd, k, i, last, old, heir, path_, to, home, x, d;
  bit r, look;
  r = rule;
  atomic {
    if
    :: next[LEFT0] == NONE -> new[LEFT] = r; next[LEFT0] = LEFT
    :: else -> goto flatten
    fi
  };
  atomic { if :: next[LEFT1] == NONE -> next[LEFT1] = LEFT :: else fi };
  d = LEFT0;
  do
  :: d > LEFT1 -> break
  :: else -> if :: next[d] == LEFT -> done[d] = 1; puts(d) :: else fi; d++
  od;
flatten:
  atomic { r = 0; d = dir[0]; i = 1 << deep[d] };
  do
  :: i == 0 -> break
  :: else ->
     i = i - 2;
     old = entry[4*d + i];
     if :: entry[4*d + i + 1] != old -> goto out :: else fi
  od;
  atomic { nd = fresh; fresh++; assert(fresh <= DIRS); deep[nd] = deep[d] - 1; i = 0 };
  do
  :: i == (1 << deep[nd]) -> break
  :: else ->
     old = entry[4*d + 2*i];
#ifndef RELOAD
     if :: entry[4*d + 2*i + 1] != old -> goto out :: else fi;
#endif
     atomic { entry[4*nd + i] = old; i++; old = 0 }
  od;
  atomic { if :: dir[0] == d -> dir[0] = nd; leads(nd) :: else fi };
out:
  skip;
  atomic { d = 0; nd = 0; i = 0; old = 0 }
}
#endif

#ifdef SPLIT
proctype splitter() {
  byte sd, nd, k, i, last, old, heir, path_, to, home, x;
  bit r, look;
  r = rule;
  atomic {
    if
    :: next[RIGHT] == NONE -> new[RIGHT0] = r; new[RIGHT0+1] = r; next[RIGHT] = RIGHT0
    :: else
    fi;
    r = 0
  };
  if :: next[RIGHT] == RIGHT0 -> done[RIGHT] = 1; puts(RIGHT) :: else fi
}
#endif

#ifdef SURFACE
proctype surfacer() {
  byte sd, nd, k, i, last, old, heir, path_, to, home, x, t;
  bit r, look;
  t = entry[4*dir[1]];
  r = rule;
  atomic {
    if
    :: next[t] == NONE -> new[UP] = r; next[t] = UP
    :: else
    fi;
    r = 0
  };
  if :: next[t] == UP -> done[t] = 1; puts(t) :: else fi;
  t = 0
}
#endif

#ifdef WALK
/* walk visits every place, and moves what is there if it is under the old rule */
proctype walker() {
  byte sd, nd, k, i, last, old, heir, path_, to, home, x, t, s, d, above, path;
  bit look, told;
  rule = 1;
  do
  :: d = dir[s];
     t = entry[INDEX(d, path)];
     if
     :: DONE(t) -> look = 1
     :: !DONE(t) && t == STEM -> atomic { s = 1; above = d }; goto again
     :: !DONE(t) && t != STEM && next[t] != NONE -> done[t] = 1
     :: !DONE(t) && t != STEM && next[t] == NONE ->
        if
        :: new[t] -> if :: s == 1 -> goto up :: else -> goto after fi
        :: else
        fi;
#ifdef MERGE
        if
        :: t == LEFT ->                                        /* settle */
           atomic { if :: next[LEFT1] == NONE -> next[LEFT1] = LEFT :: else fi };
           d = LEFT0;
           do
           :: d > LEFT1 -> break
           :: else -> if :: next[d] == LEFT -> done[d] = 1; puts(d) :: else fi; d++
           od;
           d = 0
        :: else
        fi;
#endif
        atomic { if :: next[t] == NONE -> new[t + 9] = 1; next[t] = t + 9 :: else fi };
        done[t] = 1
     fi;
told_:
     puts(t);
     if
     :: look && entry[INDEX(d, path)] == t && dir[s] == d ->   /* all of the space was given up */
        look = 0;
#ifndef UNTOLD
        told = 1; goto told_
#else
        goto up
#endif
     :: else -> look = 0
     fi;
     if :: told -> told = 0; goto up :: else -> goto again fi;
up:  skip;
     atomic { assert(s == 1); s = 0; d = above; above = 0; t = STEM };
#ifndef PASSBY
     if :: stemDone -> goto again :: else fi;
#endif
after:
     i = INDEX(d, path) + 1;
     do
     :: i < 4*d + (1 << deep[d]) && entry[i] == t -> i++
     :: else -> break
     od;
     atomic {
       path = (i - 4*d) << (2 - deep[d]);
       i = 0
     };
     if :: path > 3 -> break :: else fi;
again:
     skip;
     atomic { t = 0; d = 0 }
  od;
  atomic {
    path = 0;
    do
    :: path < 4 ->
       t = ROOT(path);
       do :: next[t] != NONE -> t = CHILD(t, path) :: else -> break od;
       assert(new[t]);
       path++
    :: else -> break
    od;
    path = 0; t = 0; d = 0
  }
}
#endif

#ifdef LOOK
proctype looker() {
  byte sd, nd, k, i, last, old, heir, path_, to, home, x, t, s, d, path;
  if :: path = 0 :: path = 1 :: path = 2 :: path = 3 fi;
  do
  :: d = dir[s];
     t = entry[INDEX(d, path)];
     if
     :: DONE(t) -> swing(t); d = dir[s]; t = entry[INDEX(d, path)]
     :: else
     fi;
     if
     :: t != STEM -> break
     :: t == STEM && next[STEM] != NONE -> t = next[STEM]; break
     :: t == STEM && next[STEM] == NONE -> s = 1
     fi
  od;
  do
  :: next[t] != NONE -> t = CHILD(t, path)
  :: atomic {
       next[t] == NONE ->
       home = ROOT(path);
       do :: next[home] != NONE -> home = CHILD(home, path) :: else -> break od;
       assert(t == home);
       home = 0; t = 0; s = 0; d = 0; path = 0
     };
     break
  od
}
#endif

init {
  atomic {
#ifdef MERGE
    deep[0] = 2;
    entry[0] = LEFT0; entry[1] = LEFT1;
#ifdef SURFACE
    entry[2] = STEM; entry[3] = STEM;
#else
    entry[2] = RIGHT; entry[3] = RIGHT;
#endif
#else
    deep[0] = 1;
    entry[0] = LEFT;
#ifdef SURFACE
    entry[1] = STEM;
#else
    entry[1] = RIGHT;
#endif
#endif
    entry[4] = BELOW;
    dir[1] = 1;
    fresh = 2;
#ifdef MERGE
    run merger();
#endif
#ifdef SPLIT
    run splitter();
#endif
#ifdef SURFACE
    run surfacer();
#endif
#ifdef WALK
    run walker();
#endif
#ifdef LOOK
    run looker();
#endif
  }
}
