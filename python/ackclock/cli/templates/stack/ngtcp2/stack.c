/* An adapter of ngtcp2: its connections, controllers, loss detection and pacing, in the time of the run.
 *
 * ngtcp2 takes time, datagrams, randomness and ciphers as arguments. Here the ciphers copy, and the handshake is its
 * messages as sizes, with the transport parameters in them. */
#include "side.h"
#include "reports.h"
#include "handshake.h"

/* Streams and datagrams. */

static int on_stream_data(ngtcp2_conn *connection, uint32_t flags, int64_t number, uint64_t offset, const uint8_t *data,
			  size_t length, void *user_data, void *of_stream)
{
	struct stack_side *side = user_data;
	(void)data, (void)of_stream;
	ngtcp2_conn_extend_max_stream_offset(connection, number, length);
	ngtcp2_conn_extend_max_offset(connection, length);
	tell(&side->events, (struct stack_event){ .kind = STACK_ARRIVED, .stream = (uint64_t)number / 4, .from = offset,
					 .to = offset + length });
	if (flags & NGTCP2_STREAM_DATA_FLAG_FIN)
		tell(&side->events, (struct stack_event){ .kind = STACK_COMPLETE, .stream = (uint64_t)number / 4 });
	return 0;
}

static int on_stream_close(ngtcp2_conn *connection, uint32_t flags, int64_t number, uint64_t error, void *user_data,
			   void *of_stream)
{
	struct stack_side *side = user_data;
	(void)flags, (void)number, (void)error, (void)of_stream;
	if (side->settings.is_client)
		tell(&side->events, (struct stack_event){ .kind = STACK_STREAM_ACKNOWLEDGED });
	else
		ngtcp2_conn_extend_max_streams_uni(connection, 1);
	return 0;
}

static int on_datagram(ngtcp2_conn *connection, uint32_t flags, const uint8_t *data, size_t length, void *user_data)
{
	struct stack_side *side = user_data;
	uint8_t *kept = resized(NULL, length);
	(void)connection, (void)flags;
	memcpy(kept, data, length);
	tell(&side->events, (struct stack_event){ .kind = STACK_DATAGRAM, .datagram = kept, .length = length });
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
	free(side->streams.at);
	free_datagrams(&side->waiting);
	free_events(&side->events);
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
	return take(&side->events, event);
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
	keep(&side->waiting, datagram, length);
}

size_t stack_datagram_room(struct stack_side *side, size_t *around)
{
	*around = AROUND;
	return side->settings.packet_size - AROUND;
}
