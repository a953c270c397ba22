/* The sliding log's ring: look, record, refuse, seal and replace, refund, retire, and creation
   anew, each load and CAS a step of its own. One key; CAP tokens in a window of W; instants are
   absolute, and 0 is out of every window.

   A slot is S (sealed) | L (lap) | time * 8 | total. A ring has 2 or 4 slots, sz of them used.
   here is the ring behind the key's handle, 0 if there is none. What is behind it is sealed
   before it is taken away or replaced, so its successor is worked out in the step that puts it
   there: nothing about a sealed ring can change before.

   -DONLY=takes, laps, refunds, tworefunds, retires or all: these calls only. -DFEW: fewer
   instants, and no hints. -DCALLS=1: the last taker takes once.

   Faults planted by -D, each of which must be found:
   LASTFIRST  the newest entry is read before the oldest
   UNCHECKED  a refusal isn't confirmed by another load
   UNSEALED   a ring is replaced that wasn't sealed
   RETIRED    an idle ring is taken away that wasn't sealed
   BASELESS   the last entry that is out of the window is overwritten
   LAPLESS    the head is recognised by time alone
   MARKLESS   a new ring doesn't mind the mark */
#ifndef CAP
#define CAP 2
#endif
#define W 2
#ifndef CALLS
#define CALLS 2			/* of the last taker, one after another */
#endif
#define T 8			/* instants are below */
#define S 512
#define L 256
#define TIME(x) (((x)&255)>>3)
#define TOTAL(x) ((x)&7)
#define RINGS 7
#define AT(r,i) slot[(r)*4+(i)]

short slot[RINGS*4];
byte sz[RINGS];
byte here=1, last=1, mark=0;
byte granted[T];		/* what counts, by the instant it counts at */
byte newest=0;

inline admitted(tm, more) {	/* the order of calls is that of these steps */
	granted[tm] = granted[tm]+more;
	newest = (tm > newest -> tm : newest);
	k = 1;
	do
	:: k < T ->
		sum = granted[k] + granted[k-1];	/* W is 2 */
		assert(sum <= CAP);
		k++
	:: else -> break
	od;
	k = 0; sum = 0
}

inline refused(tm, more) {		/* at the ring behind the handle a refusal must be right */
	sum = granted[tm] + granted[tm-1];	/* W is 2 */
	assert(r != here || sum + more > CAP);
	sum = 0
}

/* new ring: from ring f (0: none), entries in the window at t, back less those of instant b,
   and n more at t */
inline fill(from, hd, tm, more, inst, less, got) {
	d_step {
		last++; q = last; assert(q < RINGS);
		c = 0; got = 0; sum = 0;
		/* newest to oldest, into x0 x1 x2 x3: times and tokens */
		if :: more > 0 -> buf[0] = tm*8+more; c = 1 :: else fi;
		if :: from != 0 ->
			k = (hd+sz[from]-1)%sz[from];
			do
			:: k == hd -> break
			:: else ->
				if :: TIME(AT(from,k)) + W <= tm -> break :: else fi;
				m = (TOTAL(AT(from,k)) - TOTAL(AT(from,(k+sz[from]-1)%sz[from]))) & 7;
				if :: TIME(AT(from,k)) == inst && less > got ->
					if :: m <= less-got -> got = got+m; m = 0
					   :: else -> m = m-(less-got); got = less fi
				   :: else fi;
				if :: m > 0 -> buf[c] = TIME(AT(from,k))*8+m; c++ :: else fi;
				k = (k+sz[from]-1)%sz[from]
			od
		   :: else fi;
		sz[q] = (c+2 <= 2 -> 2 : 4); assert(c+2 <= 4);
		k = 0; do :: k < 4 -> AT(q,k) = 0; k++ :: else -> break od;
		/* oldest first */
		k = sz[q]-c; sum = 0;
		do
		:: c > 0 -> c--; sum = sum + (buf[c]&7); AT(q,k) = (buf[c]/8)*8 + sum; k++
		:: else -> break
		od;
		buf[0] = 0; buf[1] = 0; buf[2] = 0; buf[3] = 0;
		k = 0; m = 0; c = 0; sum = 0
	}
}

/* head, old, newest entry, tail, tokens used, counted instant: i, old, lst, j, used, t */
inline look(inst) {
	do
	:: 	/* a hint may say any slot */
		if :: i = 0 :: i = 1 :: sz[r] == 4 -> i = 2 :: sz[r] == 4 -> i = 3 fi;
#ifdef LASTFIRST
		lst = AT(r,(i+sz[r]-1)%sz[r]);
		old = AT(r,i);
#else
		old = AT(r,i);
		lst = AT(r,(i+sz[r]-1)%sz[r]);
#endif
#ifdef LAPLESS
		if :: TIME(old) < TIME(lst) || TIME(lst) == 0 -> break :: else fi
#else
		if :: (((old & L) != (lst & L)) == (i != 0)) -> break :: else fi
#endif
	od;
	t = (inst > TIME(lst) -> inst : TIME(lst));
	if
	:: TIME(lst) + W <= t -> j = (i+sz[r]-1)%sz[r]
	:: else ->
#ifndef FEW
		if	/* a hint that is right, or a search */
		:: if :: j = 0 :: j = 1 :: sz[r] == 4 -> j = 2 :: sz[r] == 4 -> j = 3 fi;
		   a = AT(r,j);
		   if :: TIME(a) + W <= t -> a = AT(r,(j+1)%sz[r]);
			if :: TIME(a) + W <= t -> goto search :: else goto seen fi
		      :: else -> goto search
		   fi
		:: goto search
		fi;
#endif
search:		j = i;
		if :: sz[r] == 4 ->
			a = AT(r,(i+1)%4);
			if :: TIME(a) + W <= t -> j = (i+1)%4;
				a = AT(r,(i+2)%4);
				if :: TIME(a) + W <= t -> j = (i+2)%4 :: else fi
			   :: else fi
		   :: else fi;
#ifndef FEW
seen:		skip
#endif
	fi;
	a = AT(r,j);
	used = (TOTAL(lst) - TOTAL(a)) & 7;
	a = 0
}

inline seal() {			/* ok: the ring is sealed, and was as it was looked at */
#ifdef UNSEALED
	ok = 1
#else
	atomic { if :: (old & S) -> ok = 1
		    :: else -> if :: AT(r,i) == old -> AT(r,i) = old|S; ok = 1 :: else -> ok = 0 fi fi }
#endif
}

#ifdef FEW
inline times(tm) { if :: tm = 2 :: tm = 4 fi }
#else
inline times(tm) { if :: tm = 2 :: tm = 3 :: tm = 4 :: tm = 5 fi }
#endif

byte running = 0;

proctype taker(byte n; byte calls) {
	short old, lst, a; byte r, q, i, j, t, used, now, k, sum, c, m, got, x; bit ok; short buf[4];
	do
	:: calls == 0 -> break
	:: else -> calls--;
	times(now);
again:	r = here;
	if
	:: r == 0 ->		/* as never seen; the mark is read after that was seen */
		t = now;
#ifndef MARKLESS
		if :: mark > t -> t = mark :: else fi;
#endif
		atomic { if :: here == 0 -> fill(0, 0, t, n, 0, 0, got); here = q; admitted(t, n); goto done
			    :: else fi };
		goto again
	:: else
	fi;
	look(now);
	if
	:: used + n > CAP ->
#ifdef UNCHECKED
		atomic { refused(t, n); goto done }
#else
		atomic { if :: AT(r,i) == old -> refused(t, n); goto done :: else fi };
#endif
		goto again
#ifdef BASELESS
	:: used + n <= CAP && (old & S) ->
#else
	:: used + n <= CAP && ((old & S) || i == j) ->
#endif
		seal();
		if :: ok -> atomic { if :: here == r -> fill(r, i, t, n, 0, 0, got); here = q; admitted(t, n); goto done
					:: else fi }
		   :: else fi;
		goto again
	:: else ->
		atomic { if :: AT(r,i) == old -> AT(r,i) = ((old & L)^L) + t*8 + ((TOTAL(lst)+n)&7); admitted(t, n); goto done
			    :: else fi };
		goto again
	fi;
done:	old = 0; lst = 0; r = 0; q = 0; i = 0; j = 0; t = 0; used = 0; now = 0; ok = 0; got = 0
	od;
	running--
}

/* takes n tokens off the entries of instant b */
proctype refunder(byte n; byte b) {
	short old, lst, a; byte r, q, i, j, t, used, k, sum, c, m, got, x; bit ok; short buf[4];
again:	r = here;
	if :: r == 0 -> goto done :: else fi;
	look(b);
	k = (i+sz[r]-1)%sz[r]; ok = 0;
	do
	:: k == i -> break
	:: else -> a = AT(r,k);
		if :: TIME(a) + W <= t -> break
		   :: TIME(a) + W > t && TIME(a) == b -> ok = 1; break
		   :: else fi;
		k = (k+sz[r]-1)%sz[r]
	od;
	k = 0; a = 0;
	if
	:: !ok -> if :: AT(r,i) == old -> goto done :: else -> goto again fi
	:: else ->
		seal();
		if :: ok -> atomic { if :: here == r -> fill(r, i, t, 0, b, n, got); here = q;
						granted[b] = granted[b]-got; goto done
					:: else fi }
		   :: else fi;
		goto again
	fi;
done:	running--
}

/* takes the ring away if the key is idle */
proctype retirer(byte now) {
	short old, lst, a; byte r, q, i, j, t, used, k, sum; bit ok;
	atomic { if :: mark < now -> mark = now :: else fi };
again:	r = here;
	if :: r == 0 -> goto done :: else fi;
	look(now);
	if
	:: used > 0 -> if :: AT(r,i) == old -> goto done :: else -> goto again fi
	:: else ->
#ifdef RETIRED
		ok = 1;
#else
		seal();
#endif
		if :: ok -> atomic { if :: here == r -> here = 0;
						sum = granted[t] + granted[t-1]; assert(sum == 0); goto done
					:: else fi }
		   :: else fi;
		goto again
	fi;
done:	running--
}

/* which calls there are */
inline takes()      { running = 3; run taker(1, 1); run taker(1, 1); run taker(2, 1) }
inline laps()       { running = 2; run taker(1, 2); run taker(1, 3) }
inline refunds()    { running = 3; run refunder(1, 2); run taker(1, 1); run taker(1, CALLS) }
inline tworefunds() { running = 3; run refunder(1, 2); run refunder(1, 3); run taker(1, CALLS) }
inline retires()    { running = 3; run retirer(4); run taker(2, 1); run taker(1, CALLS) }
inline all()        { running = 3; run retirer(4); run refunder(1, 2); run taker(1, CALLS) }

init {
	atomic {
		/* one entry, of one token at 2, in a ring of two slots */
		sz[1] = 2; AT(1,1) = 2*8+1; granted[2] = 1; newest = 2;
#ifdef ONLY
		ONLY()
#else
		if :: takes() :: laps() :: refunds() :: tworefunds() :: retires() :: all() fi
#endif
	}
}
