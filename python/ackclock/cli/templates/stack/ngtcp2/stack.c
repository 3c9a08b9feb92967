/* An adapter of ngtcp2: its connections, controllers, loss detection and pacing, in the time of the run.
 *
 * ngtcp2 takes time, datagrams, randomness and ciphers as arguments. Here the ciphers copy, and the handshake is its
 * messages as sizes, with the transport parameters in them. Reports come from the functions of the controller, between
 * which and the connection this file stands. These and the congestion state are in headers that are not public, so
 * another version may need changes here. */
#define STACK_IMPLEMENTATION
#include "ackclock_stack.h"
#include "parts.h"

#include <ngtcp2/version.h>
#include <ngtcp2_conn.h>

enum { TAG = 16, IV = 12, SECRET = 32, IDENTIFIER = 8, STREAMS = 100, MOST_DATAGRAMS = 1000, CHUNK = 1 << 16 };
/* The messages of a handshake with one certificate in bytes, and the length in front of each. */
enum { HELLO = 300, SERVER_HELLO = 122, SERVER_FLIGHT = 1000, FINISHED = 36, HEAD = 4, MOST_PARAMETERS = 256 };
/* The bytes around the content of a datagram: short header, longest number, type, length and tag. */
enum { AROUND = 1 + IDENTIFIER + 4 + 1 + 2 + TAG };

/* Clocks never stand near zero. */
#define START NGTCP2_SECONDS
#define MOST_WINDOW ((uint64_t)1 << 60)

/* A message under way. */
struct message {
	uint8_t at[SERVER_FLIGHT + MOST_PARAMETERS];
	size_t length;
};

struct stream {
	int64_t number;
	/* Bytes that ngtcp2 has not taken. */
	uint64_t waiting;
	bool ends, ended;
};

struct datagram { uint8_t *at; size_t length; };

struct stack_side {
	struct stack_settings settings;
	struct stack_ledger ledger;
	ngtcp2_conn *connection;
	uint64_t random, identifiers;
	struct message messages[2];
	bool connected, over;
	QUEUE(struct stream) streams;
	QUEUE(struct datagram) waiting;
	QUEUE(struct stack_event) events;

	/* The functions of the controller. */
	ngtcp2_cc controller;
	/* Packets of the acknowledgement and losses that were reported, and a loss event that was not. */
	size_t acknowledged, lost;
	struct stack_report event;
	struct stack_decisions before;
	bool has_event;

	/* When packets left last, and their bytes. */
	uint64_t burst_at;
	size_t burst;
};

static uint8_t zeros[CHUNK];
static const uint8_t identifiers[2][IDENTIFIER] = {
	{ 0x5e, 0x5e, 0x5e, 0x5e, 0x5e, 0x5e, 0x5e, 0x5e },
	{ 0xc1, 0xc1, 0xc1, 0xc1, 0xc1, 0xc1, 0xc1, 0xc1 },
};

static void tell(struct stack_side *side, struct stack_event event)
{
	PUSH(side->events, event);
}

static void fail(struct stack_side *side, int error)
{
	if (side->over)
		return;
	side->over = true;
	tell(side, (struct stack_event){ .kind = STACK_LOST, .why = ngtcp2_strerror(error) });
}

/* SplitMix64 (Steele, Lea and Flood 2014, figure 16). */
static void draw(struct stack_side *side, uint8_t *at, size_t length)
{
	for (size_t i = 0; i < length; i += 8) {
		uint64_t mixed = side->random += 0x9e3779b97f4a7c15;
		mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
		mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
		mixed ^= mixed >> 31;
		memcpy(at + i, &mixed, length - i < 8 ? length - i : 8);
	}
}

/* Reports, from the functions of the controller. */

static struct stack_decisions decisions(const struct stack_side *side)
{
	const ngtcp2_conn_stat *state = &side->connection->cstat;
	struct stack_decisions decided = { state->cwnd, state->ssthresh, STACK_NONE, state->send_quantum, STACK_NONE };
	if (state->pacing_interval_m)
		decided.pacing_rate = (NGTCP2_SECONDS << 10) / state->pacing_interval_m;
	if (side->connection->cc_algo == NGTCP2_CC_ALGO_BBR)
		decided.bandwidth = 8 * side->connection->bbr.bw;
	return decided;
}

static void report_with(struct stack_side *side, struct stack_report report, struct stack_decisions decided)
{
	side->ledger.report(side->ledger.at, &report, &decided);
}

static void report(struct stack_side *side, struct stack_report report)
{
	report_with(side, report, decisions(side));
}

static struct stack_side *side_of(ngtcp2_cc *controller)
{
	ngtcp2_conn *connection = (ngtcp2_conn *)((char *)controller - offsetof(ngtcp2_conn, cc));
	return connection->user_data;
}

/* All packets of the acknowledgement were reported. */
static void end_acknowledgement(struct stack_side *side, uint64_t now)
{
	const ngtcp2_conn_stat *state = &side->connection->cstat;
	bool limited = state->bytes_in_flight + side->acknowledged + side->settings.packet_size < state->cwnd;
	if (side->acknowledged)
		report(side, (struct stack_report){ STACK_ACKNOWLEDGEMENT_ENDS, { .ends = { now - START, limited } } });
	side->acknowledged = 0;
}

/* Whether a loss event is persistent congestion is known once the controller has learned of both. */
static void end_event(struct stack_side *side)
{
	if (!side->has_event)
		return;
	side->has_event = false;
	side->lost = 0;
	report_with(side, side->event, side->before);
	report(side, (struct stack_report){ .kind = STACK_DECIDED });
}

static void on_sent(ngtcp2_cc *controller, ngtcp2_conn_stat *state, const ngtcp2_cc_pkt *packet)
{
	struct stack_side *side = side_of(controller);
	if (side->controller.on_pkt_sent)
		side->controller.on_pkt_sent(controller, state, packet);
	if (packet->pktns_id == NGTCP2_PKTNS_ID_APPLICATION)
		report(side, (struct stack_report){ STACK_SENT, { .sent = { packet->sent_ts - START,
				(uint64_t)packet->pkt_num, (uint16_t)packet->pktlen } } });
}

static void on_acknowledged(ngtcp2_cc *controller, ngtcp2_conn_stat *state, const ngtcp2_cc_pkt *packet, uint64_t now)
{
	struct stack_side *side = side_of(controller);
	if (packet->pktns_id == NGTCP2_PKTNS_ID_APPLICATION) {
		side->acknowledged += packet->pktlen;
		report(side, (struct stack_report){ STACK_PACKET_ACKNOWLEDGED, { .acknowledged = { now - START,
				packet->sent_ts - START, (uint64_t)packet->pkt_num } } });
	}
	if (side->controller.on_pkt_acked)
		side->controller.on_pkt_acked(controller, state, packet, now);
}

static void on_lost(ngtcp2_cc *controller, ngtcp2_conn_stat *state, const ngtcp2_cc_pkt *packet, uint64_t now)
{
	struct stack_side *side = side_of(controller);
	end_acknowledgement(side, now);
	if (packet->pktns_id == NGTCP2_PKTNS_ID_APPLICATION) {
		side->lost++;
		report(side, (struct stack_report){ STACK_PACKET_LOST, { .lost = { now - START,
				(uint64_t)packet->pkt_num, (uint16_t)packet->pktlen } } });
	}
	if (side->controller.on_pkt_lost)
		side->controller.on_pkt_lost(controller, state, packet, now);
}

static void on_congestion(ngtcp2_cc *controller, ngtcp2_conn_stat *state, ngtcp2_tstamp sent, const ngtcp2_cc_ack *ack,
			  ngtcp2_tstamp now)
{
	struct stack_side *side = side_of(controller);
	end_acknowledgement(side, now);
	end_event(side);
	side->has_event = true;
	side->before = decisions(side);
	side->event = (struct stack_report){ STACK_CONGESTION, { .congestion = { now - START, sent - START, false,
			!side->lost } } };
	if (side->controller.congestion_event)
		side->controller.congestion_event(controller, state, sent, ack, now);
}

static void on_persistent_congestion(ngtcp2_cc *controller, ngtcp2_conn_stat *state, ngtcp2_tstamp now)
{
	struct stack_side *side = side_of(controller);
	side->event.congestion.persistent = true;
	if (side->controller.on_persistent_congestion)
		side->controller.on_persistent_congestion(controller, state, now);
}

static void on_spurious_congestion(ngtcp2_cc *controller, ngtcp2_conn_stat *state, ngtcp2_tstamp now)
{
	struct stack_side *side = side_of(controller);
	if (side->controller.on_spurious_congestion)
		side->controller.on_spurious_congestion(controller, state, now);
	report(side, (struct stack_report){ .kind = STACK_SPURIOUS });
}

static void on_acknowledgement(ngtcp2_cc *controller, ngtcp2_conn_stat *state, const ngtcp2_cc_ack *ack, uint64_t now)
{
	struct stack_side *side = side_of(controller);
	end_acknowledgement(side, now);
	end_event(side);
	if (side->controller.on_ack_recv)
		side->controller.on_ack_recv(controller, state, ack, now);
	report(side, (struct stack_report){ .kind = STACK_DECIDED });
}

/* This file stands between a connection and its controller. */
static void observe(struct stack_side *side)
{
	ngtcp2_cc *controller = &side->connection->cc;
	side->controller = *controller;
	controller->on_pkt_sent = on_sent;
	controller->on_pkt_acked = on_acknowledged;
	controller->on_pkt_lost = on_lost;
	controller->congestion_event = on_congestion;
	controller->on_persistent_congestion = on_persistent_congestion;
	controller->on_spurious_congestion = on_spurious_congestion;
	controller->on_ack_recv = on_acknowledgement;
}

/* Ciphers that copy. */

static int seal(uint8_t *to, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *context, const uint8_t *plain,
		size_t length, const uint8_t *nonce, size_t nonce_length, const uint8_t *extra, size_t extra_length)
{
	(void)aead, (void)context, (void)nonce, (void)nonce_length, (void)extra, (void)extra_length;
	memmove(to, plain, length);
	memset(to + length, 0, TAG);
	return 0;
}

static int open_sealed(uint8_t *to, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *context,
		       const uint8_t *sealed, size_t length, const uint8_t *nonce, size_t nonce_length,
		       const uint8_t *extra, size_t extra_length)
{
	(void)aead, (void)context, (void)nonce, (void)nonce_length, (void)extra, (void)extra_length;
	if (length < TAG)
		return NGTCP2_ERR_DECRYPT;
	memmove(to, sealed, length - TAG);
	return 0;
}

static int mask(uint8_t *to, const ngtcp2_crypto_cipher *cipher, const ngtcp2_crypto_cipher_ctx *context,
		const uint8_t *sample)
{
	(void)cipher, (void)context, (void)sample;
	memset(to, 0, 5);
	return 0;
}

static int update_key(ngtcp2_conn *connection, uint8_t *rx_secret, uint8_t *tx_secret, ngtcp2_crypto_aead_ctx *rx_context,
		      uint8_t *rx_iv, ngtcp2_crypto_aead_ctx *tx_context, uint8_t *tx_iv, const uint8_t *rx_current,
		      const uint8_t *tx_current, size_t length, void *user_data)
{
	(void)connection, (void)rx_current, (void)tx_current, (void)user_data;
	memset(rx_secret, 0, length);
	memset(tx_secret, 0, length);
	memset(rx_iv, 0, IV);
	memset(tx_iv, 0, IV);
	rx_context->native_handle = tx_context->native_handle = NULL;
	return 0;
}

static void forget_aead(ngtcp2_conn *connection, ngtcp2_crypto_aead_ctx *context, void *user_data)
{
	(void)connection, (void)context, (void)user_data;
}

static void forget_cipher(ngtcp2_conn *connection, ngtcp2_crypto_cipher_ctx *context, void *user_data)
{
	(void)connection, (void)context, (void)user_data;
}

static void on_random(uint8_t *at, size_t length, const ngtcp2_rand_ctx *context)
{
	draw(context->native_handle, at, length);
}

static int on_identifier(ngtcp2_conn *connection, ngtcp2_cid *identifier, uint8_t *token, size_t length, void *user_data)
{
	struct stack_side *side = user_data;
	(void)connection;
	draw(side, identifier->data, length);
	identifier->datalen = length;
	draw(side, token, NGTCP2_STATELESS_RESET_TOKENLEN);
	return 0;
}

static int on_path_challenge(ngtcp2_conn *connection, uint8_t *data, void *user_data)
{
	(void)connection;
	draw(user_data, data, NGTCP2_PATH_CHALLENGE_DATALEN);
	return 0;
}

static int on_retry(ngtcp2_conn *connection, const ngtcp2_pkt_hd *head, void *user_data)
{
	(void)connection, (void)head, (void)user_data;
	return NGTCP2_ERR_CALLBACK_FAILURE;
}

/* The handshake. */

static const ngtcp2_crypto_aead_ctx no_key;
static const ngtcp2_crypto_cipher_ctx no_mask;
static const uint8_t no_secret[SECRET];

static const ngtcp2_crypto_ctx ciphers = {
	.aead = { .max_overhead = TAG },
	.max_encryption = UINT64_MAX,
	.max_decryption_failure = UINT64_MAX,
};

static void begin_initial(ngtcp2_conn *connection)
{
	ngtcp2_conn_set_initial_crypto_ctx(connection, &ciphers);
	ngtcp2_conn_install_initial_key(connection, &no_key, no_secret, &no_mask, &no_key, no_secret, &no_mask, IV);
}

static void begin_handshake(ngtcp2_conn *connection)
{
	ngtcp2_conn_set_crypto_ctx(connection, &ciphers);
	ngtcp2_conn_install_rx_handshake_key(connection, &no_key, no_secret, IV, &no_mask);
	ngtcp2_conn_install_tx_handshake_key(connection, &no_key, no_secret, IV, &no_mask);
}

static int submit(ngtcp2_conn *connection, ngtcp2_encryption_level level, size_t length, bool with_parameters)
{
	uint8_t message[SERVER_FLIGHT + MOST_PARAMETERS] = { 0 };
	ngtcp2_ssize parameters = 0;
	if (with_parameters)
		parameters = ngtcp2_conn_encode_local_transport_params(connection, message + HEAD, MOST_PARAMETERS);
	if (parameters < 0)
		return (int)parameters;
	message[0] = (uint8_t)(length >> 8);
	message[1] = (uint8_t)length;
	message[2] = (uint8_t)(parameters >> 8);
	message[3] = (uint8_t)parameters;
	return ngtcp2_conn_submit_crypto_data(connection, level, message, length);
}

static int on_client_initial(ngtcp2_conn *connection, void *user_data)
{
	(void)user_data;
	begin_initial(connection);
	return submit(connection, NGTCP2_ENCRYPTION_LEVEL_INITIAL, HELLO, true);
}

static int on_server_initial(ngtcp2_conn *connection, const ngtcp2_cid *identifier, void *user_data)
{
	(void)identifier, (void)user_data;
	begin_initial(connection);
	return 0;
}

/* A whole message has arrived. */
static int on_message(struct stack_side *side, bool initial, const uint8_t *parameters, size_t length)
{
	ngtcp2_conn *connection = side->connection;
	int error = 0;
	if (initial)
		begin_handshake(connection);
	if (length)
		error = ngtcp2_conn_decode_and_set_remote_transport_params(connection, parameters, length);
	if (!error && initial && !side->settings.is_client) {
		error = submit(connection, NGTCP2_ENCRYPTION_LEVEL_INITIAL, SERVER_HELLO, false);
		if (!error)
			error = submit(connection, NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE, SERVER_FLIGHT, true);
		if (!error)
			error = ngtcp2_conn_install_tx_key(connection, no_secret, SECRET, &no_key, no_secret, IV, &no_mask);
	}
	if (error || initial)
		return error;
	if (side->settings.is_client) {
		error = submit(connection, NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE, FINISHED, false);
		if (!error)
			error = ngtcp2_conn_install_tx_key(connection, no_secret, SECRET, &no_key, no_secret, IV, &no_mask);
	}
	if (!error)
		error = ngtcp2_conn_install_rx_key(connection, no_secret, SECRET, &no_key, no_secret, IV, &no_mask);
	if (!error)
		ngtcp2_conn_tls_handshake_completed(connection);
	return error;
}

static int on_handshake_data(ngtcp2_conn *connection, ngtcp2_encryption_level level, uint64_t offset, const uint8_t *data,
			     size_t length, void *user_data)
{
	struct stack_side *side = user_data;
	bool initial = level == NGTCP2_ENCRYPTION_LEVEL_INITIAL;
	struct message *message = &side->messages[initial];
	(void)connection, (void)offset;
	if (message->length + length > sizeof message->at)
		return NGTCP2_ERR_CRYPTO;
	memcpy(message->at + message->length, data, length);
	message->length += length;
	if (message->length < HEAD || message->length < (size_t)(message->at[0] << 8 | message->at[1]))
		return 0;
	return on_message(side, initial, message->at + HEAD, (size_t)(message->at[2] << 8 | message->at[3]));
}

static int on_connected(ngtcp2_conn *connection, void *user_data)
{
	struct stack_side *side = user_data;
	(void)connection;
	side->connected = true;
	tell(side, (struct stack_event){ .kind = STACK_CONNECTED });
	return 0;
}

/* Streams and datagrams. */

static int on_stream_data(ngtcp2_conn *connection, uint32_t flags, int64_t number, uint64_t offset, const uint8_t *data,
			  size_t length, void *user_data, void *of_stream)
{
	struct stack_side *side = user_data;
	(void)data, (void)of_stream;
	ngtcp2_conn_extend_max_stream_offset(connection, number, length);
	ngtcp2_conn_extend_max_offset(connection, length);
	tell(side, (struct stack_event){ .kind = STACK_ARRIVED, .stream = (uint64_t)number / 4, .from = offset,
					 .to = offset + length });
	if (flags & NGTCP2_STREAM_DATA_FLAG_FIN)
		tell(side, (struct stack_event){ .kind = STACK_COMPLETE, .stream = (uint64_t)number / 4 });
	return 0;
}

static int on_stream_close(ngtcp2_conn *connection, uint32_t flags, int64_t number, uint64_t error, void *user_data,
			   void *of_stream)
{
	struct stack_side *side = user_data;
	(void)flags, (void)number, (void)error, (void)of_stream;
	if (side->settings.is_client)
		tell(side, (struct stack_event){ .kind = STACK_STREAM_ACKNOWLEDGED });
	else
		ngtcp2_conn_extend_max_streams_uni(connection, 1);
	return 0;
}

static int on_datagram(ngtcp2_conn *connection, uint32_t flags, const uint8_t *data, size_t length, void *user_data)
{
	uint8_t *kept = resized(NULL, length);
	(void)connection, (void)flags;
	memcpy(kept, data, length);
	tell(user_data, (struct stack_event){ .kind = STACK_DATAGRAM, .datagram = kept, .length = length });
	return 0;
}

/* The interface. */

static ngtcp2_cid identifier(bool of_client)
{
	ngtcp2_cid made;
	ngtcp2_cid_init(&made, identifiers[of_client], IDENTIFIER);
	return made;
}

static ngtcp2_path path(void)
{
	/* Connections do not meet, so all have the same addresses. */
	static ngtcp2_sockaddr_in addresses[2] = { { .sin_family = NGTCP2_AF_INET }, { .sin_family = NGTCP2_AF_INET } };
	return (ngtcp2_path){
		{ (ngtcp2_sockaddr *)&addresses[0], sizeof addresses[0] },
		{ (ngtcp2_sockaddr *)&addresses[1], sizeof addresses[1] },
		NULL,
	};
}

struct stack_side *stack_open(const struct stack_settings *settings, const char *controller,
			      const struct stack_ledger *ledger, const char **why)
{
	static const char *const names[] = { "reno", "cubic", "bbr" };
	static const ngtcp2_cc_algo algorithms[] = { NGTCP2_CC_ALGO_RENO, NGTCP2_CC_ALGO_CUBIC, NGTCP2_CC_ALGO_BBR };
	const ngtcp2_callbacks callbacks = {
		.client_initial = on_client_initial,
		.recv_client_initial = on_server_initial,
		.recv_crypto_data = on_handshake_data,
		.handshake_completed = on_connected,
		.encrypt = seal,
		.decrypt = open_sealed,
		.hp_mask = mask,
		.recv_stream_data = on_stream_data,
		.stream_close = on_stream_close,
		.recv_retry = on_retry,
		.rand = on_random,
		.get_new_connection_id = on_identifier,
		.update_key = update_key,
		.delete_crypto_aead_ctx = forget_aead,
		.delete_crypto_cipher_ctx = forget_cipher,
		.recv_datagram = on_datagram,
		.get_path_challenge_data = on_path_challenge,
	};
	uint64_t window = settings->receive_window < MOST_WINDOW ? settings->receive_window : MOST_WINDOW;
	ngtcp2_cid own = identifier(settings->is_client), other = identifier(!settings->is_client);
	ngtcp2_path over = path();
	ngtcp2_settings chosen;
	ngtcp2_transport_params parameters;
	size_t which = 0;
	int error;

	while (ledger && which < 3 && strcmp(controller, names[which]))
		which++;
	if (which == 3 || settings->packet_size < NGTCP2_MAX_UDP_PAYLOAD_SIZE) {
		*why = which == 3 ? "has the controllers `reno`, `cubic` and `bbr`" : "sends packets of 1200 bytes or more";
		return NULL;
	}
	struct stack_side *side = resized(NULL, sizeof *side);
	memset(side, 0, sizeof *side);
	side->settings = *settings;
	for (size_t i = 0; i < sizeof settings->seed; i += 8)
		side->random ^= get(settings->seed + i);

	ngtcp2_settings_default(&chosen);
	chosen.cc_algo = algorithms[which];
	chosen.initial_ts = settings->now + START;
	chosen.rand_ctx.native_handle = side;
	chosen.handshake_timeout = UINT64_MAX;
	chosen.max_tx_udp_payload_size = settings->packet_size;
	chosen.no_tx_udp_payload_size_shaping = 1;
	chosen.no_pmtud = 1;
	ngtcp2_transport_params_default(&parameters);
	parameters.initial_max_data = parameters.initial_max_stream_data_uni = window;
	parameters.initial_max_streams_uni = STREAMS;
	parameters.max_datagram_frame_size = UINT16_MAX;
	if (settings->is_client) {
		error = ngtcp2_conn_client_new(&side->connection, &other, &own, &over, NGTCP2_PROTO_VER_V1, &callbacks,
					       &chosen, &parameters, NULL, side);
	} else {
		parameters.original_dcid = own;
		parameters.original_dcid_present = 1;
		error = ngtcp2_conn_server_new(&side->connection, &other, &own, &over, NGTCP2_PROTO_VER_V1, &callbacks,
					       &chosen, &parameters, NULL, side);
	}
	if (error) {
		*why = ngtcp2_strerror(error);
		free(side);
		return NULL;
	}
	if (ledger) {
		side->ledger = *ledger;
		/* It has no setting for the initial window. */
		side->connection->cstat.cwnd = settings->initial_window;
		if (which == 2)
			side->connection->bbr.initial_cwnd = settings->initial_window;
		observe(side);
		report(side, (struct stack_report){ .kind = STACK_DECIDED });
	}
	return side;
}

void stack_close(struct stack_side *side)
{
	ngtcp2_conn_del(side->connection);
	for (size_t i = side->waiting.head; i < side->waiting.count; i++)
		free(side->waiting.at[i].at);
	for (size_t i = 0; i < side->events.count; i++)
		free((void *)side->events.at[i].datagram);
	free(side->streams.at);
	free(side->waiting.at);
	free(side->events.at);
	free(side);
}

void stack_receive(struct stack_side *side, uint64_t now, uint8_t ecn, const uint8_t *datagram, size_t length)
{
	ngtcp2_path over = path();
	ngtcp2_pkt_info info = { .ecn = ecn };
	int error;
	if (side->over)
		return;
	error = ngtcp2_conn_read_pkt(side->connection, &over, &info, datagram, length, now + START);
	if (error)
		fail(side, error);
}

/* Writes pieces of streams into a packet until it is full. */
static ngtcp2_ssize write_streams(struct stack_side *side, ngtcp2_pkt_info *info, uint8_t *buffer, size_t room,
				  uint64_t now)
{
	for (size_t i = side->streams.head; i < side->streams.count; i++) {
		struct stream *of = &side->streams.at[i];
		if (of->ended && i == side->streams.head)
			side->streams.head++;
		while (!of->ended && (of->waiting || of->ends)) {
			ngtcp2_vec data = { zeros, of->waiting < CHUNK ? of->waiting : CHUNK };
			bool last = of->ends && data.len == of->waiting;
			uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE | (last ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0);
			ngtcp2_ssize taken = -1, written;
			written = ngtcp2_conn_writev_stream(side->connection, NULL, info, buffer, room, &taken, flags,
							    of->number, &data, 1, now + START);
			if (taken >= 0) {
				of->waiting -= (uint64_t)taken;
				of->ended = last && (size_t)taken == data.len;
			}
			if (written == NGTCP2_ERR_STREAM_DATA_BLOCKED)
				break;
			if (written != NGTCP2_ERR_WRITE_MORE)
				return written;
		}
	}
	return ngtcp2_conn_writev_stream(side->connection, NULL, info, buffer, room, NULL, NGTCP2_WRITE_STREAM_FLAG_NONE, -1,
					 NULL, 0, now + START);
}

/* Writes a datagram, and pieces of streams behind it. */
static ngtcp2_ssize write_packet(struct stack_side *side, ngtcp2_pkt_info *info, uint8_t *buffer, size_t room,
				 uint64_t now)
{
	while (side->connected && side->waiting.head < side->waiting.count) {
		struct datagram *first = &side->waiting.at[side->waiting.head];
		ngtcp2_vec data = { first->at, first->length };
		int accepted = 0;
		ngtcp2_ssize written = ngtcp2_conn_writev_datagram(side->connection, NULL, info, buffer, room, &accepted,
								   NGTCP2_WRITE_DATAGRAM_FLAG_MORE, 0, &data, 1,
								   now + START);
		if (accepted) {
			free(first->at);
			side->waiting.head++;
			TRIM(side->waiting);
		}
		if (written != NGTCP2_ERR_WRITE_MORE)
			return written;
	}
	return write_streams(side, info, buffer, room, now);
}

size_t stack_transmit(struct stack_side *side, uint64_t now, uint8_t *buffer, size_t room, uint8_t *ecn)
{
	ngtcp2_pkt_info info = { 0 };
	ngtcp2_ssize written = 0;
	if (side->over)
		return 0;
	if (side->burst_at != now)
		side->burst = 0;
	side->burst_at = now;
	/* Its guide: a quantum leaves at once, and the pacer learns of it. */
	if (!side->burst || side->burst + side->settings.packet_size <= ngtcp2_conn_get_send_quantum(side->connection))
		written = write_packet(side, &info, buffer,
				       room < side->settings.packet_size ? room : side->settings.packet_size, now);
	if (written < 0) {
		fail(side, (int)written);
		return 0;
	}
	if (!written)
		ngtcp2_conn_update_pkt_tx_time(side->connection, now + START);
	side->burst += (size_t)written;
	*ecn = (uint8_t)info.ecn;
	return (size_t)written;
}

uint64_t stack_deadline(struct stack_side *side)
{
	uint64_t at = side->over ? UINT64_MAX : ngtcp2_conn_get_expiry(side->connection);
	return at == UINT64_MAX ? STACK_NONE : at > START ? at - START : 0;
}

void stack_expire(struct stack_side *side, uint64_t now)
{
	int error;
	if (side->over || stack_deadline(side) > now)
		return;
	error = ngtcp2_conn_handle_expiry(side->connection, now + START);
	if (side->ledger.report) {
		end_event(side);
		report(side, (struct stack_report){ .kind = STACK_DECIDED });
	}
	if (error)
		fail(side, error);
}

bool stack_poll(struct stack_side *side, struct stack_event *event)
{
	/* The content of a datagram stays until the next call. */
	if (side->events.head > 0) {
		free((void *)side->events.at[side->events.head - 1].datagram);
		side->events.at[side->events.head - 1].datagram = NULL;
	}
	if (side->events.head == side->events.count) {
		side->events.head = side->events.count = 0;
		return false;
	}
	*event = side->events.at[side->events.head++];
	return true;
}

uint64_t stack_open_stream(struct stack_side *side)
{
	struct stream opened = { 0 };
	if (ngtcp2_conn_open_uni_stream(side->connection, &opened.number, NULL))
		return STACK_NONE;
	PUSH(side->streams, opened);
	return side->streams.count - 1;
}

size_t stack_write(struct stack_side *side, uint64_t stream, size_t bytes)
{
	side->streams.at[stream].waiting += bytes;
	return bytes;
}

bool stack_finish(struct stack_side *side, uint64_t stream)
{
	side->streams.at[stream].ends = true;
	return true;
}

void stack_send_datagram(struct stack_side *side, const uint8_t *datagram, size_t length)
{
	struct datagram kept = { resized(NULL, length), length };
	memcpy(kept.at, datagram, length);
	/* As many wait as in quiche. The oldest goes. */
	if (side->waiting.count - side->waiting.head == MOST_DATAGRAMS)
		free(side->waiting.at[side->waiting.head++].at);
	PUSH(side->waiting, kept);
}

size_t stack_datagram_room(struct stack_side *side, size_t *around)
{
	*around = AROUND;
	return side->settings.packet_size - AROUND;
}
