/* Ciphers that copy, draws, and a handshake of messages as sizes. */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include "side.h"

static int seal(uint8_t *to, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *context,
		const uint8_t *plain, size_t length, const uint8_t *nonce, size_t nonce_length, const uint8_t *extra,
		size_t extra_length)
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

static int update_key(ngtcp2_conn *connection, uint8_t *rx_secret, uint8_t *tx_secret,
		      ngtcp2_crypto_aead_ctx *rx_context, uint8_t *rx_iv,
		      ngtcp2_crypto_aead_ctx *tx_context, uint8_t *tx_iv, const uint8_t *rx_current,
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

static int on_identifier(ngtcp2_conn *connection, ngtcp2_cid *identifier, uint8_t *token, size_t length,
			 void *user_data)
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

static int on_handshake_data(ngtcp2_conn *connection, ngtcp2_encryption_level level, uint64_t offset,
			     const uint8_t *data, size_t length, void *user_data)
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
	tell(&side->events, (struct stack_event){ .kind = STACK_CONNECTED });
	return 0;
}

#endif
