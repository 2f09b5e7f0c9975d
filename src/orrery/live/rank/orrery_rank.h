/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORRERY_RANK_H
#define ORRERY_RANK_H
/* The inside of a simulated rank: virtual clock, operations, shared memory. A C interface without torch, so that one
 * binary serves every torch; the shim in python/orrery/live/shim is all that knows torch.
 *
 * The library is preloaded into every process of a run. A process becomes a rank with orrery_rank_join(). Functions
 * that return int give 0, or -1 with errno: ECANCELED when the run is over and the program must leave.
 * One thread at a time may be inside a blocking function; others wait for it. Times are picoseconds. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- life ------------------------------------------------------------------------------------------------------ */

/* This process is rank `rank` of `world`; it sleeps until the simulation begins it. The rest comes from the
 * environment (ORRERY_LIVE). From now on its clocks are virtual. */
int orrery_rank_join(int rank, int world);
/* Whether this process is a rank (children that a rank forks are not). */
int orrery_rank_is_joined(void);
/* Whether this process runs under `orrery run`, joined or not. */
int orrery_rank_is_live(void);
int orrery_rank_number(void);
int orrery_rank_world(void);
/* The program ends with this status; posts what is left. The last call. */
int orrery_rank_leave(int status);
/* The reason why the run was ended, for ECANCELED; "" when there is none. */
const char* orrery_rank_reason(void);

/* ---- time ------------------------------------------------------------------------------------------------------ */

/* The virtual clock. Reading it is an event of the program: what was computed so far is charged. */
int64_t orrery_now(void);
/* Sleeps in virtual time. */
int orrery_sleep(int64_t picoseconds);
/* Work between pause and resume is not charged (copies, our own bookkeeping). They nest. */
void orrery_pause(void);
void orrery_resume(void);
/* Operators of the program, for the estimator of compute time: `key` says what runs (name, shapes, types).
 * What is between enter and begin is not charged; enter may be left out. */
void orrery_operator_enter(void);
void orrery_operator_begin(uint64_t key);
void orrery_operator_end(void);
/* Whether anybody wants to know of operators: not when times are fixed per segment or come from a ledger.
 * ORRERY_WANTS_SHAPES: by orrery_operator_ran() instead, as each costs what the device's model says. */
enum { ORRERY_WANTS_NONE = 0, ORRERY_WANTS_KEYS = 1, ORRERY_WANTS_SHAPES = 2 };
int orrery_wants_operators(void);
/* Whether computing costs what it takes here: then anything that costs the same each time may be told as an operator. */
int orrery_is_measured(void);
/* What an operator with this key costs, as far as is known now; 0 when nothing is. */
int64_t orrery_operator_ps(uint64_t key);

/* A tensor that an operator takes or gives. */
typedef struct {
  const int64_t* sizes;
  uint32_t dims;
  uint32_t dtype;    /* c10::ScalarType */
  uint32_t element;  /* Bytes of one. */
  uint32_t argument; /* Which one; tensors of a list have the same. */
  int64_t distinct;  /* Elements in memory: fewer than the sizes say where it is expanded. */
  uint32_t is_dense; /* Elements lie in order, without gaps. */
  uint32_t reserved;
} orrery_tensor;

typedef struct {
  const char* name; /* "aten::addmm" */
  const orrery_tensor* inputs;
  size_t input_count;
  const orrery_tensor* outputs;
  size_t output_count;
  uint32_t flag;        /* Its first argument of type bool. */
  uint32_t allows_tf32; /* Products of fp32 may be rounded to tf32. */
} orrery_operator;

/* An operator has run: its cost is charged. None that another one has called. */
void orrery_operator_ran(const orrery_operator* op);
/* Whether the device has a kernel for an operator that torch may put together from others. */
int orrery_is_kernel(const char* name);

/* ---- queues of a device ------------------------------------------------------------------------------------------ */

/* For programs whose device computes beside the host (CUDA's streams). Operators that say so are charged to the present
 * queue, see queue_clock.hpp. Nothing of it happens before orrery_queues_begin(). */
void orrery_queues_begin(int is_fake);
int orrery_has_queues(void);
/* Whether the device's tensors have no data: operations carry their sizes alone. */
int orrery_is_fake(void);
/* What the program issues from now on goes on this queue; 0 is the first one's. */
void orrery_queue_select(uint64_t queue);
/* The operator that runs now is work of the device. */
void orrery_queue_work(void);
/* A kernel of the device runs on this thread, in the CPU's libraries. When those look at the clock it is not the program
 * that looks: they see the last point, and nothing is charged. */
void orrery_kernel_begin(void);
void orrery_kernel_end(void);
#define ORRERY_QUEUE_PRESENT UINT64_MAX
#define ORRERY_QUEUE_ALL (UINT64_MAX - 1)
/* When everything that is on the queue now will have ended. */
int64_t orrery_queue_end(uint64_t queue);
/* The queue does nothing that is issued from now on before this time. */
void orrery_queue_await(uint64_t queue, int64_t until);
/* The host waits until this time. */
void orrery_queue_reach(int64_t until);

/* The most that the program has had in the memory of its device, in bytes, and what that was for. */
typedef struct {
  int64_t peak; /* The sum of what follows. */
  int64_t parameters;
  int64_t gradients;
  int64_t optimizer;
  int64_t activations;
  int64_t other;
} orrery_memory;
/* Where the coordinator reads it when this rank has left; NULL when this process is no rank. */
orrery_memory* orrery_memory_page(void);

/* The program's warm-up is over: what was before does not count. Later calls do nothing. */
int orrery_mark(void);

/* ---- operations ------------------------------------------------------------------------------------------------ */

typedef enum {
  ORRERY_ALL_REDUCE = 1,
  ORRERY_BROADCAST,
  ORRERY_REDUCE,
  ORRERY_ALL_GATHER,
  ORRERY_REDUCE_SCATTER,
  ORRERY_ALL_TO_ALL,
  ORRERY_GATHER,
  ORRERY_SCATTER,
  ORRERY_BARRIER,
  ORRERY_MONITORED_BARRIER, /* timeout_ps is honoured; the error names who is missing */
  ORRERY_SEND,
  ORRERY_RECEIVE,   /* peer -1: from anybody; `source` tells */
  ORRERY_NEW_GROUP, /* payload: int32 global ranks in group order; `name`: the group's. Never waited for. */
  ORRERY_END_GROUP,
  ORRERY_MARK,      /* orrery_mark(); `sequence` is what first touches have cost since the last request */
  ORRERY_AWAITED    /* orrery_awaited(); `sequence` is the handle */
} orrery_kind;

/* An operation as it is posted; in shared memory, made by orrery_op_new(). Ranks are group ranks.
 * `sizes` (int64 each, after this struct) say in bytes what this member contributes or takes:
 *   all_reduce, broadcast, reduce     [0] the buffer
 *   all_gather                        [i] what member i contributes (every member gives all n)
 *   reduce_scatter                    [i] what member i ends up with (every member gives all n)
 *   all_to_all                        [i] what goes to member i, [n+i] what comes from member i
 *   gather, scatter                   [0] this member's part; the root gives n+1: its own, then [1+i] of each member
 *   send, receive                     [0] the message
 *   barriers                          none
 * The payload is what this member contributes, contiguous, in the order of sizes; none where it contributes nothing. */
typedef struct orrery_op {
  uint32_t kind;
  uint32_t dtype;        /* c10::ScalarType; compared between members, and named in reports. */
  uint32_t element;      /* Bytes of one. */
  uint32_t reduction;    /* c10d::ReduceOp::RedOpType; compared between members. */
  uint64_t handle;       /* Given by orrery_op_new: this process's count of operations, from 1. */
  uint64_t group;        /* From orrery_group(). */
  uint64_t sequence;     /* Collectives: the group's count, from 0; equal on all members. */
  int32_t peer;          /* Root, source or destination; -1 = none, or any source. */
  int32_t tag;
  int64_t timeout_ps;    /* Of the group, or of this call. */
  uint32_t size_count;
  uint32_t is_async;     /* The caller did not ask to wait at once. */
  uint32_t on_device;    /* It begins when the present queue has come to it; whoever waits for it is a queue. */
  int64_t payload_bytes;
  char name[32];         /* As the user called it: "all_gather_into_tensor". */
  char where[160];       /* "train.py:31", the line of the program; "" when not known. */
  /* Written by the library and the coordinator: */
  int64_t next;          /* Post after this one. */
  int64_t posted_ps;
  int64_t done_ps;       /* When this process was told of its end. */
  int64_t ended_ps;      /* When it ended. */
  int64_t table;         /* Collectives, once done: the results' table. */
  int64_t match;         /* Receive, once done: the sender's operation. */
  int32_t source;        /* Receive, once done: the sender's group rank. */
  int32_t failed;        /* 1: `reason` says why. */
  char reason[512];
} orrery_op;

/* The group's key, and posts ORRERY_NEW_GROUP. `ranks` are global ranks; the same name and ranks again make a new
 * group (generation). Equal on all members without asking anybody. */
uint64_t orrery_group(const char* name, const int32_t* ranks, size_t count);

/* A new operation with room for sizes and payload; everything zero but handle and the counts. NULL with errno.
 * Freed by the library when every member has taken its result. */
orrery_op* orrery_op_new(uint32_t kind, size_t size_count, size_t payload_bytes);
int64_t* orrery_op_sizes(orrery_op* op);
void* orrery_op_payload(orrery_op* op);
/* Posts it at the present virtual time and returns at once; the program must not touch it afterwards. */
int orrery_post(orrery_op* op);

/* Sleeps, in virtual time, until one of the operations has ended; gives its index. -1 with errno: ETIMEDOUT after
 * timeout_ps (0 = for ever). An operation ended by failure counts as ended: look at `failed`. */
int orrery_wait_any(orrery_op* const* ops, size_t count, int64_t timeout_ps);
/* Whether it has ended by now; a request like the others, so that a loop of polls lets time pass. */
int orrery_test(orrery_op* op);
/* The program builds on the end of an operation that this process had been told of, so that no request says it. For
 * captures; does nothing without one. */
int orrery_awaited(uint64_t handle);
/* Without asking anybody: whether this process has already been told of its end. */
int orrery_has_ended(const orrery_op* op);

/* After the end of a collective: the operation of member `member` (its sizes and payload may be read). */
orrery_op* orrery_member_op(const orrery_op* op, size_t member);
/* After the end of a receive: the sender's operation. */
orrery_op* orrery_sender_op(const orrery_op* op);
/* Results computed once for all: the first member to ask gets NULL and must compute into
 * orrery_result_new(op, bytes), then orrery_result_ready(op); the others get the result, after waiting for it. */
void* orrery_result(const orrery_op* op);
void* orrery_result_new(const orrery_op* op, size_t bytes);
void orrery_result_ready(const orrery_op* op);
/* After the results of an operation were copied to the program: into so many pages that it had not touched yet. And
 * how many bytes gloo would have taken for it meanwhile. Zeros must be told, too. */
void orrery_touched(uint64_t pages, int64_t scratch_bytes);
/* This member has taken what it wanted: `op`, its table, its peers' payloads may be gone afterwards. Exactly once
 * per operation that has ended, failed ones included. A sender calls it for its own send, too. */
void orrery_op_release(orrery_op* op);

/* ---- store ----------------------------------------------------------------------------------------------------- */

typedef enum {
  ORRERY_STORE_SET = 1, /* key, value */
  ORRERY_STORE_GET,     /* key; waits until it is there -> value */
  ORRERY_STORE_ADD,     /* key, int64 -> int64 */
  ORRERY_STORE_DELETE,  /* key -> uint8 whether it was there */
  ORRERY_STORE_CHECK,   /* keys... -> uint8 whether all are there */
  ORRERY_STORE_COUNT,   /* -> int64 number of keys */
  ORRERY_STORE_WAIT,    /* keys...; waits until all are there */
  ORRERY_STORE_COMPARE_SET, /* key, expected, desired -> value now; an absent key is set if expected is empty */
  ORRERY_STORE_APPEND,  /* key, value */
  ORRERY_STORE_PUSH,    /* key, value: to the end of a queue */
  ORRERY_STORE_POP,     /* key, uint8 whether to wait -> value, or nothing (zero parts) */
  ORRERY_STORE_LENGTH,  /* key -> int64 */
  ORRERY_STORE_LIST     /* -> keys... */
} orrery_store_operation;

typedef struct {
  const void* data;
  size_t size;
} orrery_bytes;

/* Asks store `name`. Replies are copied out: `reply(context, data, size)` is called for each part of the answer.
 * -1 with errno: ETIMEDOUT. */
int orrery_store(const char* name, uint32_t operation, const orrery_bytes* parts, size_t count, int64_t timeout_ps,
                 void (*reply)(void* context, const void* data, size_t size), void* context);

/* ---- waiting that we cannot see otherwise ------------------------------------------------------------------------ */

/* Called on a rank's thread that is about to sleep in std::condition_variable::wait(): makes progress (blocks until
 * some pending operation has ended, in virtual time, and completes it) and returns 1; or returns 0 when nothing is
 * pending. Set by the shim. */
extern int (*orrery_progress_hook)(void);
/* Whether something is pending that it would wait for or complete: 1 or 0, at once. Set by the shim. */
extern int (*orrery_pending_hook)(void);

#ifdef __cplusplus
}
#endif
#endif
