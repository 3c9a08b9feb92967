/* A provider of cryptography for picoquic and picotls: ciphers that copy, a short hash, keys of zeros and draws.
 *
 * A tag has the key and the number of its packet, so that another key does not open it. It takes the place of
 * `picoquic_ptls_minicrypto.c`. */
#include "side.h"

#include <picotls.h>
#include <picoquic_crypto_provider_api.h>

enum { KEY = 16, IV = 12, DIGEST = 32, CERTIFICATE = 700, SIGNATURE = 72 };

_Thread_local struct stack_side *current;

/* Randomness. */

static void draw_bytes(void *at, size_t length)
{
	for (size_t i = 0; i < length; i += 8) {
		uint64_t drawn = draw(current);
		memcpy((uint8_t *)at + i, &drawn, length - i < 8 ? length - i : 8);
	}
}

/* The Makefile puts these in the place of picoquic's own, whose state is shared by all connections of a process. */

uint64_t draw_64(void)
{
	return draw(current);
}

void draw_public(void *at, size_t length)
{
	draw_bytes(at, length);
}

uint64_t draw_uniform(uint64_t below)
{
	return draw(current) % below;
}

void draw_seed(picoquic_quic_t *context)
{
	(void)context;
}

/* A hash: FNV-1a, and a mixture of it for each word of the digest. */

struct hash {
	ptls_hash_context_t base;
	uint64_t state;
};

static const uint64_t basis = 0xcbf29ce484222325;

static uint64_t hashed(uint64_t state, const uint8_t *at, size_t length)
{
	for (size_t i = 0; i < length; i++)
		state = (state ^ at[i]) * 0x100000001b3;
	return state;
}

static void hash_update(ptls_hash_context_t *base, const void *at, size_t length)
{
	struct hash *hash = (struct hash *)base;
	hash->state = hashed(hash->state, at, length);
}

static void hash_final(ptls_hash_context_t *base, void *digest, ptls_hash_final_mode_t mode)
{
	struct hash *hash = (struct hash *)base;
	uint64_t word = hash->state;
	for (size_t i = 0; digest && i < DIGEST; i += 8) {
		word = (word ^ word >> 29) * 0xbf58476d1ce4e5b9 + i;
		memcpy((uint8_t *)digest + i, &word, 8);
	}
	if (mode == PTLS_HASH_FINAL_MODE_FREE)
		free(hash);
	else if (mode == PTLS_HASH_FINAL_MODE_RESET)
		hash->state = basis;
}

static ptls_hash_context_t *hash_copy(ptls_hash_context_t *base);

static ptls_hash_context_t *hash_create(void)
{
	struct hash *hash = resized(NULL, sizeof *hash);
	*hash = (struct hash){ { hash_update, hash_final, hash_copy }, basis };
	return &hash->base;
}

static ptls_hash_context_t *hash_copy(ptls_hash_context_t *base)
{
	struct hash *hash = resized(NULL, sizeof *hash);
	*hash = *(struct hash *)base;
	return &hash->base;
}

static ptls_hash_algorithm_t hash = {
	.name = "sha256", .block_size = 64, .digest_size = DIGEST, .create = hash_create,
};

/* A cipher that masks nothing. */

static void cipher_dispose(ptls_cipher_context_t *context)
{
	(void)context;
}

static void cipher_begin(ptls_cipher_context_t *context, const void *iv)
{
	(void)context, (void)iv;
}

static void cipher_copy(ptls_cipher_context_t *context, void *to, const void *from, size_t length)
{
	(void)context;
	memmove(to, from, length);
}

static int cipher_setup(ptls_cipher_context_t *context, int encrypts, const void *key)
{
	(void)encrypts, (void)key;
	context->do_dispose = cipher_dispose;
	context->do_init = cipher_begin;
	context->do_transform = cipher_copy;
	return 0;
}

static ptls_cipher_algorithm_t counter = {
	"AES128-CTR", KEY, 1, 16, sizeof(ptls_cipher_context_t), cipher_setup,
};
static ptls_cipher_algorithm_t block = {
	"AES128-ECB", KEY, 16, 0, sizeof(ptls_cipher_context_t), cipher_setup,
};

/* A seal that copies. */

struct seal {
	ptls_aead_context_t base;
	uint8_t iv[IV];
	uint64_t key;
};

static void seal_dispose(ptls_aead_context_t *base)
{
	(void)base;
}

static void seal_get_iv(ptls_aead_context_t *base, void *iv)
{
	memcpy(iv, ((struct seal *)base)->iv, IV);
}

static void seal_set_iv(ptls_aead_context_t *base, const void *iv)
{
	memcpy(((struct seal *)base)->iv, iv, IV);
}

static void seal_tag(const struct seal *seal, uint8_t *to, uint64_t number)
{
	put(to, seal->key);
	put(to + 8, number);
}

static void seal_encrypt(ptls_aead_context_t *base, void *to, const void *from, size_t length, uint64_t number,
			 const void *extra, size_t extra_length, ptls_aead_supplementary_encryption_t *more)
{
	(void)extra, (void)extra_length;
	memmove(to, from, length);
	seal_tag((struct seal *)base, (uint8_t *)to + length, number);
	if (more)
		memset(more->output, 0, sizeof more->output);
}

static void seal_encrypt_pieces(ptls_aead_context_t *base, void *to, ptls_iovec_t *from, size_t count, uint64_t number,
				const void *extra, size_t extra_length)
{
	uint8_t *end = to;
	(void)extra, (void)extra_length;
	for (size_t i = 0; i < count; end += from[i++].len)
		memmove(end, from[i].base, from[i].len);
	seal_tag((struct seal *)base, end, number);
}

static size_t seal_decrypt(ptls_aead_context_t *base, void *to, const void *from, size_t length, uint64_t number,
			   const void *extra, size_t extra_length)
{
	uint8_t tag[TAG];
	(void)extra, (void)extra_length;
	seal_tag((struct seal *)base, tag, number);
	if (length < TAG || memcmp((const uint8_t *)from + length - TAG, tag, TAG))
		return SIZE_MAX;
	memmove(to, from, length - TAG);
	return length - TAG;
}

static int seal_setup(ptls_aead_context_t *base, int encrypts, const void *key, const void *iv)
{
	struct seal *seal = (struct seal *)base;
	(void)encrypts;
	seal->key = hashed(basis, key, KEY);
	memcpy(seal->iv, iv, IV);
	base->dispose_crypto = seal_dispose;
	base->do_get_iv = seal_get_iv;
	base->do_set_iv = seal_set_iv;
	base->do_encrypt_init = NULL;
	base->do_encrypt_update = NULL;
	base->do_encrypt_final = NULL;
	base->do_encrypt = seal_encrypt;
	base->do_encrypt_v = seal_encrypt_pieces;
	base->do_decrypt = seal_decrypt;
	return 0;
}

static ptls_aead_algorithm_t aead = {
	.name = "AES128-GCM",
	.confidentiality_limit = UINT64_MAX,
	.integrity_limit = UINT64_MAX,
	.ctr_cipher = &counter,
	.ecb_cipher = &block,
	.key_size = KEY,
	.iv_size = IV,
	.tag_size = TAG,
	.context_size = sizeof(struct seal),
	.setup_crypto = seal_setup,
};

static ptls_cipher_suite_t suite = { 0x1301, &aead, &hash, "TLS_AES_128_GCM_SHA256" };

/* An exchange of zeros. */

static ptls_iovec_t zeros_of(size_t length)
{
	return ptls_iovec_init(memset(resized(NULL, length), 0, length), length);
}

static int exchange_end(ptls_key_exchange_context_t **context, int release, ptls_iovec_t *secret, ptls_iovec_t other)
{
	(void)other;
	if (secret)
		*secret = zeros_of(DIGEST);
	if (release) {
		free((*context)->pubkey.base);
		free(*context);
		*context = NULL;
	}
	return 0;
}

static int exchange_begin(ptls_key_exchange_algorithm_t *algorithm, ptls_key_exchange_context_t **context)
{
	*context = resized(NULL, sizeof **context);
	**context = (ptls_key_exchange_context_t){ algorithm, zeros_of(DIGEST), exchange_end };
	return 0;
}

static int exchange_answer(ptls_key_exchange_algorithm_t *algorithm, ptls_iovec_t *own, ptls_iovec_t *secret,
			   ptls_iovec_t other)
{
	(void)algorithm, (void)other;
	*own = zeros_of(DIGEST);
	*secret = zeros_of(DIGEST);
	return 0;
}

static ptls_key_exchange_algorithm_t exchange = { 0x1d, exchange_begin, exchange_answer, 0, "x25519" };

/* A certificate of zeros. */

static int sign(ptls_sign_certificate_t *self, ptls_t *tls, ptls_async_job_t **job, uint16_t *algorithm,
		ptls_buffer_t *to, ptls_iovec_t of, const uint16_t *algorithms, size_t count)
{
	static const uint8_t signature[SIGNATURE];
	(void)self, (void)tls, (void)job, (void)of;
	if (!count)
		return PTLS_ALERT_HANDSHAKE_FAILURE;
	*algorithm = algorithms[0];
	return ptls_buffer__do_pushv(to, signature, SIGNATURE);
}

void certify(picoquic_quic_t *context)
{
	ptls_context_t *tls = context->tls_master_ctx;
	ptls_iovec_t *chain = resized(NULL, sizeof *chain);
	*chain = zeros_of(CERTIFICATE);
	picoquic_set_tls_certificate_chain(context, chain, 1);
	tls->sign_certificate = resized(NULL, sizeof *tls->sign_certificate);
	tls->sign_certificate->cb = sign;
}

void picoquic_ptls_minicrypto_load(int unload)
{
	if (unload)
		return;
	picoquic_register_ciphersuite(&suite, 1);
	picoquic_register_key_exchange_algorithm(&exchange);
	picoquic_register_crypto_random_provider_fn(draw_bytes);
}
