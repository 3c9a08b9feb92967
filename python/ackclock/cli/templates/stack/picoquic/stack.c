/* An adapter of picoquic: its connections, controllers, loss detection and pacing, in the time of the run.
 *
 * picoquic takes time and datagrams as arguments. Its handshake is that of picotls, with ciphers that copy. */
#define STACK_IMPLEMENTATION
#include "side.h"

#include <pthread.h>
#include <picoquic_bbr.h>
#include <picoquic_bbr1.h>
#include <picoquic_c4.h>
#include <picoquic_cubic.h>
#include <picoquic_newreno.h>
#include <picoquic_prague.h>

#define PROTOCOL "ackclock"

void picoquic_tls_api_init(void);

/* Streams and datagrams. */

static int write_stream(struct stack_side *side, uint64_t number, void *packet, size_t room)
{
	struct stream *of = &side->streams.at[number / 4];
	size_t length = of->waiting < room ? of->waiting : room;
	bool last = of->ends && length == of->waiting;
	uint8_t *at = picoquic_provide_stream_data_buffer(packet, length, last, !last && of->waiting > length);
	if (!at)
		return -1;
	memset(at, 0, length);
	of->waiting -= length;
	of->ended = last;
	return 0;
}

static int write_datagram(struct stack_side *side, void *packet, size_t room)
{
	struct datagram *first = &side->waiting.at[side->waiting.head];
	size_t left = side->waiting.count - side->waiting.head;
	size_t length = left && first->length <= room ? first->length : 0;
	bool more = left > (length > 0);
	uint8_t *at = picoquic_provide_datagram_buffer_ex(packet, length, more ? picoquic_datagram_active_any_path :
							  picoquic_datagram_not_active);
	if (!length || !at)
		return length ? -1 : 0;
	memcpy(at, first->at, first->length);
	free(first->at);
	side->waiting.head++;
	TRIM(side->waiting);
	return 0;
}

static void arrive(struct stack_side *side, uint64_t number, size_t length, bool complete)
{
	uint64_t stream = number / 4, from;
	while (side->arrived.count <= stream)
		PUSH(side->arrived, 0);
	from = side->arrived.at[stream];
	side->arrived.at[stream] += length;
	if (length)
		tell(&side->events, (struct stack_event){ .kind = STACK_ARRIVED, .stream = stream, .from = from,
						 .to = from + length });
	if (complete)
		tell(&side->events, (struct stack_event){ .kind = STACK_COMPLETE, .stream = stream });
}

static void arrive_datagram(struct stack_side *side, const uint8_t *bytes, size_t length)
{
	uint8_t *kept = resized(NULL, length);
	memcpy(kept, bytes, length);
	tell(&side->events, (struct stack_event){ .kind = STACK_DATAGRAM, .datagram = kept, .length = length });
}

static int on_event(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
		    picoquic_call_back_event_t event, void *of_connection, void *of_stream)
{
	struct stack_side *side = of_connection;
	(void)of_stream;
	switch (event) {
	case picoquic_callback_ready:
		if (!side->connected)
			tell(&side->events, (struct stack_event){ .kind = STACK_CONNECTED });
		side->connected = true;
		return 0;
	case picoquic_callback_prepare_to_send:
		return write_stream(side, stream, bytes, length);
	case picoquic_callback_prepare_datagram:
		return write_datagram(side, bytes, length);
	case picoquic_callback_stream_data:
	case picoquic_callback_stream_fin:
		arrive(side, stream, length, event == picoquic_callback_stream_fin);
		return 0;
	case picoquic_callback_datagram:
		arrive_datagram(side, bytes, length);
		return 0;
	case picoquic_callback_stream_released:
		tell(&side->events, (struct stack_event){ .kind = STACK_STREAM_ACKNOWLEDGED });
		return 0;
	case picoquic_callback_close:
	case picoquic_callback_application_close:
	case picoquic_callback_stateless_reset:
		fail(side, picoquic_error_name(connection->local_error ? connection->local_error :
					       connection->remote_error));
		return 0;
	default:
		return 0;
	}
}

/* The interface. */

static struct sockaddr_in address(bool of_client)
{
	/* Connections do not meet, so all have the same addresses. */
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(of_client ? 1 : 2), .sin_addr = { htonl(INADDR_LOOPBACK) },
	};
}

static picoquic_congestion_algorithm_t *controller_of(const char *name)
{
	picoquic_congestion_algorithm_t *const all[] = {
		picoquic_newreno_algorithm, picoquic_cubic_algorithm, picoquic_dcubic_algorithm, picoquic_bbr_algorithm,
		picoquic_bbr1_algorithm, picoquic_prague_algorithm, c4_algorithm,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i]->congestion_algorithm_id, name))
			return all[i];
	return NULL;
}

static const char *refuse(const struct stack_settings *settings)
{
	uint64_t size = settings->packet_size;
	if (size < PICOQUIC_ENFORCED_INITIAL_MTU || size > PICOQUIC_MAX_PACKET_SIZE)
		return "sends packets of 1200 to 1536 bytes";
	/* PICOQUIC_CWIN_INITIAL is a constant. */
	if (settings->initial_window != 10 * size)
		return "has an initial window of 10 packets alone";
	return NULL;
}

static bool connect_client(struct stack_side *side)
{
	struct sockaddr_in server = address(false);
	observe(side);
	picoquic_set_default_congestion_algorithm(side->context, &side->observed);
	picoquic_set_null_verifier(side->context);
	side->connection = picoquic_create_client_cnx(side->context, (struct sockaddr *)&server, side->time, 0,
						      PROTOCOL, PROTOCOL, on_event, side);
	return side->connection;
}

struct stack_side *stack_open(const struct stack_settings *settings, const char *controller,
			      const struct stack_ledger *ledger, const char **why)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	picoquic_congestion_algorithm_t *chosen = ledger ? controller_of(controller) : NULL;
	uint64_t window = settings->receive_window < MOST_WINDOW ? settings->receive_window : MOST_WINDOW;
	struct stack_side *side;

	*why = refuse(settings);
	if (ledger && !chosen)
		*why = "has the controllers `newreno`, `cubic`, `dcubic`, `bbr`, `bbr1`, `prague` and `c4`";
	if (*why)
		return NULL;
	pthread_once(&once, picoquic_tls_api_init);
	side = resized(NULL, sizeof *side);
	memset(side, 0, sizeof *side);
	side->settings = *settings;
	side->controller = chosen;
	for (size_t i = 0; i < sizeof settings->seed; i += 8)
		side->random ^= get(settings->seed + i);
	enter(side, settings->now);

	side->context = picoquic_create(4, NULL, NULL, NULL, PROTOCOL, on_event, side, NULL, NULL, NULL, side->time,
					&side->time, NULL, NULL, 0);
	if (!side->context) {
		*why = "made no context";
		free(side);
		return NULL;
	}
	picoquic_set_default_idle_timeout(side->context, 0);
	picoquic_set_default_pmtud_policy(side->context, picoquic_pmtud_blocked);
	picoquic_set_mtu_max(side->context, settings->packet_size + 28u);
	side->context->default_tp.initial_max_data = window;
	side->context->default_tp.initial_max_stream_data_uni = window;
	side->context->default_tp.initial_max_stream_id_unidir = STREAMS;
	side->context->default_tp.max_datagram_frame_size = settings->packet_size;
	if (ledger)
		side->ledger = *ledger;
	if (!settings->is_client) {
		picoquic_enforce_client_only(side->context, 0);
		certify(side->context);
	} else if (!connect_client(side)) {
		*why = "opened no connection";
		stack_close(side);
		return NULL;
	}
	end_event(side);
	return side;
}

void stack_close(struct stack_side *side)
{
	current = side;
	side->over = true;
	side->ledger.report = NULL;
	picoquic_free(side->context);
	free(side->streams.at);
	free_datagrams(&side->waiting);
	free(side->arrived.at);
	free(side->sent.at);
	free_events(&side->events);
	free(side);
}

void stack_receive(struct stack_side *side, uint64_t now, uint8_t ecn, const uint8_t *datagram, size_t length)
{
	struct sockaddr_in from = address(!side->settings.is_client), to = address(side->settings.is_client);
	uint8_t bytes[PICOQUIC_MAX_PACKET_SIZE];
	picoquic_cnx_t *connection = NULL;
	if (side->over || length > sizeof bytes)
		return;
	enter(side, now);
	memcpy(bytes, datagram, length);
	picoquic_incoming_packet_ex(side->context, bytes, length, (struct sockaddr *)&from, (struct sockaddr *)&to, 0,
				    ecn, &connection, side->time);
	if (!side->connection)
		side->connection = connection;
	if (side->connection)
		end_event(side);
}

size_t stack_transmit(struct stack_side *side, uint64_t now, uint8_t *buffer, size_t room, uint8_t *ecn)
{
	struct sockaddr_storage to, from;
	size_t length = 0, size = side->settings.packet_size;
	int failed;
	enter(side, now);
	if (side->over || !side->connection || side->connection->next_wake_time > side->time)
		return 0;
	/* Losses make picoquic fall back to the least size, and it looks for no other. */
	side->connection->path[0]->send_mtu = size;
	failed = picoquic_prepare_packet(side->connection, side->time, buffer, room < size ? room : size, &length, &to,
					 &from, NULL);
	if (failed)
		fail(side, picoquic_error_name((uint64_t)failed));
	if (length)
		on_sent(side);
	if (length || side->has_event)
		end_event(side);
	*ecn = side->controller ? side->controller->ecn_mark : 0;
	return length;
}

uint64_t stack_deadline(struct stack_side *side)
{
	uint64_t at = side->over || !side->connection ? UINT64_MAX : side->connection->next_wake_time;
	return at == UINT64_MAX ? STACK_NONE : at > START ? (at - START) * 1000 : 0;
}

void stack_expire(struct stack_side *side, uint64_t now)
{
	/* Timers expire as a packet is asked for. */
	(void)side, (void)now;
}

bool stack_poll(struct stack_side *side, struct stack_event *event)
{
	return take(&side->events, event);
}

uint64_t stack_open_stream(struct stack_side *side)
{
	uint64_t number = picoquic_get_next_local_stream_id(side->connection, 1);
	struct stream opened = { 0 };
	enter(side, side->now);
	if (number / 4 >= side->connection->max_streams_unidir_remote)
		return STACK_NONE;
	if (picoquic_mark_active_stream(side->connection, number, 0, side))
		return STACK_NONE;
	PUSH(side->streams, opened);
	return side->streams.count - 1;
}

static void activate(struct stack_side *side, uint64_t stream)
{
	enter(side, side->now);
	if (!side->streams.at[stream].ended)
		picoquic_mark_active_stream(side->connection, 4 * stream + 2, 1, side);
}

size_t stack_write(struct stack_side *side, uint64_t stream, size_t bytes)
{
	side->streams.at[stream].waiting += bytes;
	activate(side, stream);
	return bytes;
}

bool stack_finish(struct stack_side *side, uint64_t stream)
{
	side->streams.at[stream].ends = true;
	activate(side, stream);
	return true;
}

void stack_send_datagram(struct stack_side *side, const uint8_t *datagram, size_t length)
{
	keep(&side->waiting, datagram, length);
	enter(side, side->now);
	picoquic_mark_datagram_ready(side->connection, 1);
}

size_t stack_datagram_room(struct stack_side *side, size_t *around)
{
	*around = AROUND;
	return side->settings.packet_size - AROUND;
}
