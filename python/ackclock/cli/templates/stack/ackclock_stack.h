/* The interface between ackclock and a transport, in C or in any language that can define functions of C.
 *
 * One source file defines STACK_IMPLEMENTATION before it includes this header, and the functions below are defined
 * anywhere in the object. A side is one end of one connection. It opens no socket and reads no clock: times are
 * nanoseconds of the run. A run calls the sides of its connections on one thread, and several runs may go at once.
 *
 * The client opens the connection, and sends streams 0, 1, … or datagrams. The server acknowledges. */
#ifndef ACKCLOCK_STACK_H
#define ACKCLOCK_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* In place of a number that does not exist. */
#define STACK_NONE UINT64_MAX

/* The conditions under which a side begins. */
struct stack_settings {
	uint64_t now;
	/* The seed of everything that it draws. */
	uint8_t seed[32];
	bool is_client;
	/* Bytes of a full packet without the headers of IP and UDP. */
	uint16_t packet_size;
	/* The window of the connection and of its streams in bytes. */
	uint64_t receive_window;
	/* The initial congestion window in bytes. */
	uint64_t initial_window;
	/* Paths of the connection: 1. */
	uint32_t paths;
};

/* The decisions of the controller. Any but the window may be STACK_NONE. */
struct stack_decisions {
	/* Bytes that may be in flight. */
	uint64_t window;
	/* The slow-start threshold in bytes. */
	uint64_t threshold;
	/* Bytes a second. */
	uint64_t pacing_rate;
	/* Bytes that may leave at once. */
	uint64_t quantum;
	/* The estimated bandwidth in bits a second. */
	uint64_t bandwidth;
};

/* An event at the sender. Packets that only acknowledge are not reported. */
struct stack_report {
	enum {
		STACK_SENT,
		STACK_PACKET_ACKNOWLEDGED,
		STACK_ACKNOWLEDGEMENT_ENDS,
		STACK_PACKET_LOST,
		STACK_CONGESTION,
		STACK_SPURIOUS,
		STACK_DECIDED,
	} kind;
	union {
		/* A packet left. Numbers grow. */
		struct { uint64_t now, number; uint16_t size; } sent;
		/* A packet that left at `sent` was acknowledged. */
		struct { uint64_t now, sent, number; } acknowledged;
		/* All packets of an acknowledgement were reported. */
		struct { uint64_t now; bool application_limited; } ends;
		/* A packet was deemed lost. */
		struct { uint64_t now, number; uint16_t size; } lost;
		/* The controller is about to learn of losses or of a mark. The last of these packets left at `sent`. */
		struct { uint64_t now, sent; bool persistent, marked; } congestion;
	};
};

/* Where a sender reports. The sender keeps a copy. */
struct stack_ledger {
	const void *at;
	void (*report)(const void *at, const struct stack_report *report, const struct stack_decisions *decisions);
	struct stack_decisions (*decisions)(const void *at);
};

/* An event for the application. */
struct stack_event {
	enum {
		/* The handshake is over. */
		STACK_CONNECTED = 1,
		/* The other side has acknowledged all of a stream. */
		STACK_STREAM_ACKNOWLEDGED,
		/* Bytes from..to of a stream have arrived, in any order. */
		STACK_ARRIVED,
		/* A stream has arrived to its end. */
		STACK_COMPLETE,
		/* A datagram has arrived: its bytes stay until the next call. */
		STACK_DATAGRAM,
		/* The connection is over, for the reason in `why`. */
		STACK_LOST,
	} kind;
	uint64_t stream, from, to;
	const uint8_t *datagram;
	size_t length;
	const char *why;
};

/* The state of a side. */
struct stack_side;

/* One side of a connection. `controller` is the name behind `c:`, and empty at a server. `ledger` is NULL at a server.
 * Without a side it returns NULL, and `*why` has the reason, as in "has no controller `mine`". */
struct stack_side *stack_open(const struct stack_settings *settings, const char *controller,
			      const struct stack_ledger *ledger, const char **why);
void stack_close(struct stack_side *side);

/* A datagram arrives, with the codepoint of ECN in its IP header. */
void stack_receive(struct stack_side *side, uint64_t now, uint8_t ecn, const uint8_t *datagram, size_t length);

/* Writes the next datagram that leaves now into `buffer`, and its codepoint of ECN. Returns its bytes, or 0. */
size_t stack_transmit(struct stack_side *side, uint64_t now, uint8_t *buffer, size_t room, uint8_t *ecn);

/* The deadline has come. */
void stack_expire(struct stack_side *side, uint64_t now);

/* When the side is looked at next, or STACK_NONE. */
uint64_t stack_deadline(struct stack_side *side);

/* Takes the next event for the application. Returns false if there is none. */
bool stack_poll(struct stack_side *side, struct stack_event *event);

/* Opens a stream. Returns its number, or STACK_NONE as long as no more are allowed. */
uint64_t stack_open_stream(struct stack_side *side);

/* Takes `bytes` more bytes of a stream, and returns how many were taken. Their values do not matter. */
size_t stack_write(struct stack_side *side, uint64_t stream, size_t bytes);

/* Ends a stream. Returns true once that is written. */
bool stack_finish(struct stack_side *side, uint64_t stream);

/* Sends a datagram, once. */
void stack_send_datagram(struct stack_side *side, const uint8_t *datagram, size_t length);

/* The largest datagram in bytes, and in `*around` the bytes of headers around it. */
size_t stack_datagram_room(struct stack_side *side, size_t *around);

#ifdef STACK_IMPLEMENTATION

/* The table by which ackclock calls the functions above (`crates/stack/src/table.rs`). */

struct stack_slice { const uint8_t *at; size_t length; };
struct stack_ledgers { const struct stack_ledger *at; size_t count; };
struct stack_header { uint32_t path; uint8_t ecn; };

struct stack_call {
	enum {
		STACK_CALL_RECEIVE,
		STACK_CALL_TRANSMIT,
		STACK_CALL_EXPIRE,
		STACK_CALL_DEADLINE,
		STACK_CALL_POLL,
		STACK_CALL_OPEN_STREAM,
		STACK_CALL_WRITE,
		STACK_CALL_FINISH,
		STACK_CALL_SEND_DATAGRAM,
		STACK_CALL_DATAGRAM_ROOM,
		STACK_CALL_END,
	} kind;
	union {
		struct { uint64_t now; struct stack_header header; struct stack_slice datagram; } receive;
		uint64_t now;
		struct { uint64_t stream; size_t bytes; } write;
		uint64_t stream;
		struct stack_slice datagram;
	};
};

struct stack_answer {
	enum {
		STACK_ANSWER_NOTHING,
		STACK_ANSWER_NUMBER,
		STACK_ANSWER_ROOM,
		STACK_ANSWER_LEAVES,
		STACK_ANSWER_CONNECTED,
		STACK_ANSWER_OPENED,
		STACK_ANSWER_ACKNOWLEDGED,
		STACK_ANSWER_ARRIVED,
		STACK_ANSWER_COMPLETE,
		STACK_ANSWER_DATAGRAM,
		STACK_ANSWER_LOST,
		STACK_ANSWER_FAILED,
	} kind;
	union {
		uint64_t number;
		struct { size_t most, around; } room;
		struct { struct stack_header header; struct stack_slice datagram; } leaves;
		struct { uint64_t stream, from, to; } arrived;
		uint64_t stream;
		struct stack_slice bytes;
	};
};

struct stack_instance {
	struct stack_side *side;
	char why[256];
	uint8_t buffer[1 << 16];
};

static struct stack_slice stack_text(const char *text)
{
	size_t length = 0;
	while (text[length])
		length++;
	return (struct stack_slice){ (const uint8_t *)text, length };
}

static void *stack_table_connect(const struct stack_settings *settings, struct stack_slice controller,
				 struct stack_ledgers ledgers)
{
	struct stack_instance *instance = calloc(1, sizeof *instance);
	const char *why = "has no memory";
	char name[64];
	if (!instance)
		abort();
	snprintf(name, sizeof name, "%.*s", (int)controller.length, (const char *)controller.at);
	instance->side = stack_open(settings, name, ledgers.count ? ledgers.at : NULL, &why);
	if (!instance->side)
		snprintf(instance->why, sizeof instance->why, "%s", why);
	return instance;
}

static struct stack_answer stack_number(uint64_t number)
{
	return (struct stack_answer){ STACK_ANSWER_NUMBER, { .number = number } };
}

static struct stack_answer stack_table_poll(struct stack_side *side)
{
	struct stack_event event = { 0 };
	if (!stack_poll(side, &event))
		return (struct stack_answer){ STACK_ANSWER_NOTHING, { 0 } };
	switch (event.kind) {
	case STACK_CONNECTED:
		return (struct stack_answer){ STACK_ANSWER_CONNECTED, { 0 } };
	case STACK_STREAM_ACKNOWLEDGED:
		return (struct stack_answer){ STACK_ANSWER_ACKNOWLEDGED, { 0 } };
	case STACK_ARRIVED:
		return (struct stack_answer){ STACK_ANSWER_ARRIVED,
					      { .arrived = { event.stream, event.from, event.to } } };
	case STACK_COMPLETE:
		return (struct stack_answer){ STACK_ANSWER_COMPLETE, { .stream = event.stream } };
	case STACK_DATAGRAM:
		return (struct stack_answer){ STACK_ANSWER_DATAGRAM, { .bytes = { event.datagram, event.length } } };
	default:
		return (struct stack_answer){ STACK_ANSWER_LOST, { .bytes = stack_text(event.why) } };
	}
}

static void stack_table_call(void *at, const struct stack_call *call, struct stack_answer *answer)
{
	struct stack_instance *instance = at;
	struct stack_side *side = instance->side;
	*answer = (struct stack_answer){ STACK_ANSWER_NOTHING, { 0 } };
	if (!side) {
		*answer = (struct stack_answer){ STACK_ANSWER_FAILED, { .bytes = stack_text(instance->why) } };
		return;
	}
	switch (call->kind) {
	case STACK_CALL_RECEIVE:
		stack_receive(side, call->receive.now, call->receive.header.ecn, call->receive.datagram.at,
			      call->receive.datagram.length);
		return;
	case STACK_CALL_TRANSMIT: {
		uint8_t ecn = 0;
		size_t bytes = stack_transmit(side, call->now, instance->buffer, sizeof instance->buffer, &ecn);
		if (bytes)
			*answer = (struct stack_answer){ STACK_ANSWER_LEAVES,
							 { .leaves = { { 0, ecn }, { instance->buffer, bytes } } } };
		return;
	}
	case STACK_CALL_EXPIRE:
		stack_expire(side, call->now);
		return;
	case STACK_CALL_DEADLINE:
		*answer = stack_number(stack_deadline(side));
		return;
	case STACK_CALL_POLL:
		*answer = stack_table_poll(side);
		return;
	case STACK_CALL_OPEN_STREAM:
		*answer = stack_number(stack_open_stream(side));
		return;
	case STACK_CALL_WRITE:
		*answer = stack_number(stack_write(side, call->write.stream, call->write.bytes));
		return;
	case STACK_CALL_FINISH:
		*answer = stack_number(stack_finish(side, call->stream));
		return;
	case STACK_CALL_SEND_DATAGRAM:
		stack_send_datagram(side, call->datagram.at, call->datagram.length);
		return;
	case STACK_CALL_DATAGRAM_ROOM: {
		size_t around = 0, most = stack_datagram_room(side, &around);
		*answer = (struct stack_answer){ STACK_ANSWER_ROOM, { .room = { most, around } } };
		return;
	}
	case STACK_CALL_END:
		instance->side = NULL;
		stack_close(side);
		return;
	}
}

static void stack_table_end(void *at)
{
	struct stack_instance *instance = at;
	if (instance->side)
		stack_close(instance->side);
	free(instance);
}

/* ackclock reads the rest only if the version and the sizes of the structures are its own. */
__attribute__((visibility("default"))) const struct {
	uint32_t version, layout;
	void *(*connect)(const struct stack_settings *, struct stack_slice, struct stack_ledgers);
	void (*call)(void *, const struct stack_call *, struct stack_answer *);
	void (*end)(void *);
} ACKCLOCK_STACK = {
	2,
	sizeof(struct stack_settings) + 3 * sizeof(struct stack_decisions) + 5 * sizeof(struct stack_report) +
		7 * sizeof(struct stack_call) + 11 * sizeof(struct stack_answer) + 13 * sizeof(struct stack_ledger),
	stack_table_connect,
	stack_table_call,
	stack_table_end,
};

#endif
#endif
