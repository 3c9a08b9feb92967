/* A transport to begin with: numbered packets, acknowledgements with ranges, loss detection and New Reno of RFC 9002,
 * streams and datagrams. Replace it, or make it an adapter: each function below calls one of your stack. */
#define STACK_IMPLEMENTATION
#include "ackclock_stack.h"
#include "parts.h"

enum { HELLO = 1, WELCOME, STREAM, DATAGRAM, ACKNOWLEDGEMENT };
enum { HELLO_BYTES = 300, WELCOME_BYTES = 1200, HEAD = 9, STREAM_HEAD = 25, MOST_RANGES = 32 };

#define MILLISECOND 1000000ull
/* kInitialRtt, kGranularity, max_ack_delay, kPacketThreshold of RFC 9002. */
#define FIRST_RTT (333 * MILLISECOND)
#define GRANULARITY MILLISECOND
#define ACK_DELAY (25 * MILLISECOND)
#define THRESHOLD 3

/* A piece of a stream, or a datagram. */
struct piece {
	uint64_t stream, from, to;
	bool ends;
	uint8_t *datagram;
};

struct packet {
	uint64_t number, sent;
	uint16_t size;
	bool settled;
	struct piece piece;
};

struct stream {
	/* Bytes from the application, bytes that left for the first time, and bytes that arrived or were acknowledged. */
	uint64_t written, begun;
	struct ranges known;
	bool ends, end_begun, end_known, done;
};

struct stack_side {
	struct stack_settings settings;
	struct stack_ledger ledger;
	bool connected;
	QUEUE(struct stream) streams;
	struct events events;

	/* The sender. */
	QUEUE(struct packet) packets;
	QUEUE(struct piece) waiting;
	uint64_t hello_at, hello_timeout, next, largest, in_flight, acknowledged_bytes;
	bool hello_repeated, any_acknowledged;
	uint64_t latest, smoothed, variation, loss_at, last_sent, marks;
	unsigned timeouts, probes;
	double window, threshold;
	uint64_t recovery_start;

	/* The receiver. */
	struct ranges numbers;
	uint64_t acknowledge_at, marked;
	bool welcomes;
	unsigned unacknowledged;
};

static void report(struct stack_side *side, struct stack_report report)
{
	struct stack_decisions decisions = {
		(uint64_t)side->window, side->threshold < 1e18 ? (uint64_t)side->threshold : STACK_NONE,
		STACK_NONE, STACK_NONE, STACK_NONE,
	};
	side->ledger.report(side->ledger.at, &report, &decisions);
}

static struct stream *stream(struct stack_side *side, uint64_t number)
{
	while (side->streams.count <= number)
		PUSH(side->streams, ((struct stream){ 0 }));
	return &side->streams.at[number];
}

/* Loss detection and New Reno (RFC 9002, sections 5 to 7). */

static uint64_t probe_timeout(const struct stack_side *side)
{
	uint64_t variation = 4 * side->variation > GRANULARITY ? 4 * side->variation : GRANULARITY;
	return side->smoothed + variation + ACK_DELAY;
}

static void measure(struct stack_side *side, uint64_t rtt)
{
	if (!side->latest) {
		side->smoothed = rtt;
		side->variation = rtt / 2;
	} else {
		uint64_t distance = side->smoothed > rtt ? side->smoothed - rtt : rtt - side->smoothed;
		side->variation = (3 * side->variation + distance) / 4;
		side->smoothed = (7 * side->smoothed + rtt) / 8;
	}
	side->latest = rtt;
}

static void on_congestion(struct stack_side *side, uint64_t now, uint64_t sent, bool persistent, bool marked)
{
	double least = 2.0 * side->settings.packet_size;
	report(side, (struct stack_report){ STACK_CONGESTION, { .congestion = { now, sent, persistent, marked } } });
	if (sent > side->recovery_start || !side->recovery_start) {
		side->recovery_start = now;
		side->threshold = side->window / 2;
		side->window = side->threshold > least ? side->threshold : least;
	}
	if (persistent) {
		side->window = least;
		side->recovery_start = 0;
	}
	report(side, (struct stack_report){ .kind = STACK_DECIDED });
}

static void detect_losses(struct stack_side *side, uint64_t now)
{
	uint64_t rtt = side->latest > side->smoothed ? side->latest : side->smoothed;
	uint64_t delay = rtt * 9 / 8 > GRANULARITY ? rtt * 9 / 8 : GRANULARITY;
	uint64_t first = STACK_NONE, last = 0, longest = 0;
	side->loss_at = STACK_NONE;
	for (size_t i = side->packets.head; i < side->packets.count; i++) {
		struct packet *packet = &side->packets.at[i];
		if (packet->number > side->largest)
			break;
		if (packet->settled) {
			first = STACK_NONE;
			continue;
		}
		if (side->largest < packet->number + THRESHOLD && packet->sent + delay > now) {
			side->loss_at = packet->sent + delay;
			break;
		}
		packet->settled = true;
		side->in_flight -= packet->size;
		if (packet->piece.datagram)
			free(packet->piece.datagram);
		else
			PUSH(side->waiting, packet->piece);
		report(side, (struct stack_report){ STACK_PACKET_LOST, { .lost = { now, packet->number, packet->size } } });
		first = first == STACK_NONE ? packet->sent : first;
		last = packet->sent;
		longest = last - first > longest ? last - first : longest;
	}
	if (last)
		on_congestion(side, now, last, longest > 3 * probe_timeout(side), false);
}

static void acknowledged(struct stack_side *side, uint64_t now, struct packet *packet, bool limited)
{
	struct piece piece = packet->piece;
	packet->settled = true;
	side->in_flight -= packet->size;
	report(side, (struct stack_report){ STACK_PACKET_ACKNOWLEDGED,
					    { .acknowledged = { now, packet->sent, packet->number } } });
	/* A window that is not used does not grow (section 7.8). */
	if (packet->sent > side->recovery_start && !limited) {
		double size = packet->size;
		side->window += side->window < side->threshold ?
			size : size * side->settings.packet_size / side->window;
	}
	if (piece.datagram) {
		free(piece.datagram);
		return;
	}
	struct stream *of = stream(side, piece.stream);
	if (piece.to > piece.from)
		side->acknowledged_bytes += add(&of->known, piece.from, piece.to - 1);
	of->end_known |= piece.ends;
	if (of->end_known && !of->done && (!of->written || of->known.at[0].last + 1 == of->written)) {
		of->done = true;
		tell(&side->events, (struct stack_event){ .kind = STACK_STREAM_ACKNOWLEDGED });
	}
}

static void on_acknowledgement(struct stack_side *side, uint64_t now, const uint8_t *at, size_t count, uint64_t marks)
{
	bool limited = side->in_flight + side->settings.packet_size < side->window, any = false;
	uint64_t newest = 0, largest = get(at + 8);
	/* Numbers have no gaps, and the oldest range is the last. */
	for (size_t one = count; one-- > 0 && side->packets.head < side->packets.count;) {
		struct packet *outstanding = &side->packets.at[side->packets.head];
		uint64_t from = get(at + 16 * one), to = get(at + 16 * one + 8);
		from = from > outstanding->number ? from : outstanding->number;
		to = to < side->next ? to : side->next - 1;
		for (uint64_t number = from; number <= to; number++) {
			struct packet *packet = &outstanding[number - outstanding->number];
			if (packet->settled)
				continue;
			acknowledged(side, now, packet, limited);
			any = true;
			newest = packet->sent;
			if (number == largest)
				measure(side, now - packet->sent);
		}
	}
	if (!any)
		return;
	side->largest = side->any_acknowledged && side->largest > largest ? side->largest : largest;
	side->any_acknowledged = true;
	side->timeouts = 0;
	report(side, (struct stack_report){ STACK_ACKNOWLEDGEMENT_ENDS, { .ends = { now, limited } } });
	if (marks > side->marks) {
		side->marks = marks;
		on_congestion(side, now, newest, false, true);
	}
	detect_losses(side, now);
	while (side->packets.head < side->packets.count && side->packets.at[side->packets.head].settled)
		side->packets.head++;
	TRIM(side->packets);
}

/* The next piece to send: a lost one, or new data. */
static bool next_piece(struct stack_side *side, struct piece *piece)
{
	uint64_t most = side->settings.packet_size - HEAD - STREAM_HEAD;
	if (side->waiting.head < side->waiting.count) {
		*piece = side->waiting.at[side->waiting.head++];
		TRIM(side->waiting);
		return true;
	}
	for (uint64_t number = 0; number < side->streams.count; number++) {
		struct stream *of = &side->streams.at[number];
		uint64_t left = of->written - of->begun;
		if (!left && (!of->ends || of->end_begun))
			continue;
		piece->stream = number;
		piece->from = of->begun;
		piece->to = of->begun + (left < most ? left : most);
		piece->ends = of->ends && piece->to == of->written;
		piece->datagram = NULL;
		of->begun = piece->to;
		of->end_begun = piece->ends;
		return true;
	}
	return false;
}

static size_t send_piece(struct stack_side *side, uint64_t now, struct piece piece, uint8_t *buffer)
{
	uint64_t length = piece.to - piece.from;
	size_t size = HEAD + length + (piece.datagram ? 0 : STREAM_HEAD);
	struct packet packet = { side->next++, now, (uint16_t)size, false, piece };
	buffer[0] = piece.datagram ? DATAGRAM : STREAM;
	put(buffer + 1, packet.number);
	if (piece.datagram) {
		memcpy(buffer + HEAD, piece.datagram, length);
	} else {
		memset(buffer + HEAD, 0, STREAM_HEAD + length);
		put(buffer + HEAD, piece.stream);
		put(buffer + HEAD + 8, piece.from);
		put(buffer + HEAD + 16, piece.to);
		buffer[HEAD + 24] = piece.ends;
	}
	PUSH(side->packets, packet);
	side->in_flight += size;
	side->last_sent = now;
	report(side, (struct stack_report){ STACK_SENT, { .sent = { now, packet.number, packet.size } } });
	return size;
}

static size_t send_acknowledgement(struct stack_side *side, uint8_t *buffer)
{
	const struct ranges *of = &side->numbers;
	size_t count = of->count < MOST_RANGES ? of->count : MOST_RANGES;
	buffer[0] = ACKNOWLEDGEMENT;
	put(buffer + 1, side->marked);
	for (size_t i = 0; i < count; i++) {
		/* The newest first. */
		put(buffer + HEAD + 16 * i, of->at[of->count - 1 - i].first);
		put(buffer + HEAD + 16 * i + 8, of->at[of->count - 1 - i].last);
	}
	side->unacknowledged = 0;
	side->acknowledge_at = STACK_NONE;
	return HEAD + 16 * count;
}

static void on_packet(struct stack_side *side, uint64_t now, uint8_t ecn, const uint8_t *at, size_t length)
{
	uint64_t number = get(at + 1);
	bool in_order = side->numbers.count ? number == side->numbers.at[side->numbers.count - 1].last + 1 : !number;
	side->marked += ecn == 3;
	/* Every second packet, and each that may show a loss, is acknowledged at once (RFC 9000, section 13.2). */
	side->unacknowledged += in_order && ecn != 3 ? 1 : 2;
	if (side->acknowledge_at == STACK_NONE)
		side->acknowledge_at = now + ACK_DELAY;
	if (side->unacknowledged > 1)
		side->acknowledge_at = now;
	if (!add(&side->numbers, number, number))
		return;
	if (at[0] == DATAGRAM) {
		uint8_t *kept = resized(NULL, length - HEAD);
		memcpy(kept, at + HEAD, length - HEAD);
		tell(&side->events, (struct stack_event){ .kind = STACK_DATAGRAM, .datagram = kept, .length = length - HEAD });
		return;
	}
	uint64_t of_number = get(at + HEAD), from = get(at + HEAD + 8), to = get(at + HEAD + 16);
	struct stream *of = stream(side, of_number);
	if (to > from)
		add(&of->known, from, to - 1);
	tell(&side->events, (struct stack_event){ .kind = STACK_ARRIVED, .stream = of_number, .from = from, .to = to });
	if (at[HEAD + 24]) {
		of->ends = true;
		of->written = to;
	}
	if (of->ends && !of->done && (!of->written || of->known.at[0].last + 1 == of->written)) {
		of->done = true;
		tell(&side->events, (struct stack_event){ .kind = STACK_COMPLETE, .stream = of_number });
	}
}

/* The interface. */

struct stack_side *stack_open(const struct stack_settings *settings, const char *controller,
			      const struct stack_ledger *ledger, const char **why)
{
	if (ledger && strcmp(controller, "newreno")) {
		*why = "has the controller `newreno` alone";
		return NULL;
	}
	struct stack_side *side = resized(NULL, sizeof *side);
	memset(side, 0, sizeof *side);
	side->settings = *settings;
	side->window = settings->initial_window;
	side->threshold = 1e18;
	side->smoothed = FIRST_RTT;
	side->variation = FIRST_RTT / 2;
	side->loss_at = side->acknowledge_at = STACK_NONE;
	side->hello_at = settings->is_client ? settings->now : STACK_NONE;
	side->hello_timeout = 2 * FIRST_RTT;
	if (ledger) {
		side->ledger = *ledger;
		report(side, (struct stack_report){ .kind = STACK_DECIDED });
	}
	return side;
}

void stack_close(struct stack_side *side)
{
	for (size_t i = side->packets.head; i < side->packets.count; i++)
		if (!side->packets.at[i].settled)
			free(side->packets.at[i].piece.datagram);
	for (size_t i = side->waiting.head; i < side->waiting.count; i++)
		free(side->waiting.at[i].datagram);
	for (size_t i = 0; i < side->streams.count; i++)
		free(side->streams.at[i].known.at);
	free(side->packets.at);
	free(side->waiting.at);
	free(side->streams.at);
	free_events(&side->events);
	free(side->numbers.at);
	free(side);
}

void stack_receive(struct stack_side *side, uint64_t now, uint8_t ecn, const uint8_t *datagram, size_t length)
{
	switch (datagram[0]) {
	case HELLO:
		side->welcomes = true;
		return;
	case WELCOME:
		if (side->connected)
			return;
		side->connected = true;
		if (!side->hello_repeated)
			measure(side, now - side->settings.now);
		side->hello_at = STACK_NONE;
		tell(&side->events, (struct stack_event){ .kind = STACK_CONNECTED });
		return;
	case ACKNOWLEDGEMENT:
		on_acknowledgement(side, now, datagram + HEAD, (length - HEAD) / 16, get(datagram + 1));
		return;
	default:
		on_packet(side, now, ecn, datagram, length);
	}
}

size_t stack_transmit(struct stack_side *side, uint64_t now, uint8_t *buffer, size_t room, uint8_t *ecn)
{
	struct piece piece;
	(void)room;
	*ecn = 2;
	if (side->welcomes) {
		side->welcomes = false;
		memset(buffer, 0, WELCOME_BYTES);
		buffer[0] = WELCOME;
		return WELCOME_BYTES;
	}
	if (side->hello_at <= now) {
		side->hello_repeated = now > side->settings.now;
		side->hello_at = now + side->hello_timeout;
		side->hello_timeout *= 2;
		memset(buffer, 0, HELLO_BYTES);
		buffer[0] = HELLO;
		return HELLO_BYTES;
	}
	if (side->acknowledge_at <= now)
		return send_acknowledgement(side, buffer);
	if (!side->connected || !side->ledger.report)
		return 0;
	bool fits = side->in_flight + side->settings.packet_size <= side->window &&
		    side->in_flight < side->settings.receive_window;
	if (!fits && !side->probes)
		return 0;
	if (!next_piece(side, &piece)) {
		/* A probe without new data carries the oldest again (section 6.2.4). */
		if (!side->probes)
			return 0;
		size_t i = side->packets.head;
		while (i < side->packets.count && (side->packets.at[i].settled || side->packets.at[i].piece.datagram))
			i++;
		side->probes = 0;
		if (i == side->packets.count)
			return 0;
		piece = side->packets.at[i].piece;
	}
	side->probes = 0;
	return send_piece(side, now, piece, buffer);
}

uint64_t stack_deadline(struct stack_side *side)
{
	uint64_t at = side->hello_at < side->acknowledge_at ? side->hello_at : side->acknowledge_at;
	uint64_t timer = STACK_NONE;
	if (side->in_flight)
		timer = side->loss_at != STACK_NONE ? side->loss_at :
			side->last_sent + (probe_timeout(side) << (side->timeouts < 20 ? side->timeouts : 20));
	return timer < at ? timer : at;
}

void stack_expire(struct stack_side *side, uint64_t now)
{
	if (!side->in_flight || side->hello_at <= now || side->acknowledge_at <= now)
		return;
	if (side->loss_at <= now) {
		detect_losses(side, now);
	} else if (side->loss_at == STACK_NONE && stack_deadline(side) <= now) {
		side->timeouts++;
		side->probes = 1;
	}
}

bool stack_poll(struct stack_side *side, struct stack_event *event)
{
	return take(&side->events, event);
}

uint64_t stack_open_stream(struct stack_side *side)
{
	stream(side, side->streams.count);
	return side->streams.count - 1;
}

size_t stack_write(struct stack_side *side, uint64_t number, size_t bytes)
{
	stream(side, number)->written += bytes;
	return bytes;
}

bool stack_finish(struct stack_side *side, uint64_t number)
{
	stream(side, number)->ends = true;
	return true;
}

void stack_send_datagram(struct stack_side *side, const uint8_t *datagram, size_t length)
{
	struct piece piece = { .to = length, .datagram = resized(NULL, length) };
	memcpy(piece.datagram, datagram, length);
	/* As many wait as in quiche. The oldest goes. */
	if (side->waiting.count - side->waiting.head == MOST_DATAGRAMS)
		free(side->waiting.at[side->waiting.head++].datagram);
	PUSH(side->waiting, piece);
}

size_t stack_datagram_room(struct stack_side *side, size_t *around)
{
	*around = HEAD;
	return side->settings.packet_size - HEAD;
}
