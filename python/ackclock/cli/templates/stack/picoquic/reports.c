/* Reports, from the function of the controller and from the lists of packets. These are in a header that is not public,
 * so another version may need changes here. */
#include "side.h"

static struct stack_decisions decisions(const struct stack_side *side)
{
	picoquic_path_t *path = side->connection->path[0];
	struct stack_decisions decided = { path->cwin, STACK_NONE, STACK_NONE, STACK_NONE, STACK_NONE };
	if (path->pacing.rate) {
		decided.pacing_rate = path->pacing.rate;
		decided.quantum = path->pacing.quantum_max;
	}
	if (path->congestion_alg_state) {
		const char *name = side->observed.congestion_algorithm_id;
		uint64_t state, shown;
		side->observed.alg_observe(path, &state, &shown);
		if ((!strcmp(name, "newreno") || !strcmp(name, "prague")) && shown)
			decided.threshold = shown;
		else if (!strcmp(name, "bbr") || !strcmp(name, "bbr1"))
			decided.bandwidth = 8 * shown;
	}
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

static bool asks_for_acknowledgement(const picoquic_packet_t *packet)
{
	size_t at = packet->offset, length;
	int pure = 1;
	if (packet->is_ack_trap)
		return false;
	for (; pure && at < packet->length; at += length)
		if (picoquic_skip_frame(&packet->bytes[at], packet->length - at, &length, &pure))
			break;
	return !pure;
}

static uint64_t sent_at(const struct stack_side *side, uint64_t number)
{
	return number < side->sent.count ? side->sent.at[number] : STACK_NONE;
}

void on_sent(struct stack_side *side)
{
	const picoquic_packet_t *packet = side->connection->pkt_ctx[picoquic_packet_context_application].pending_last;
	if (!side->ledger.report || !packet || packet->sequence_number < side->sent.count)
		return;
	/* picoquic skips numbers. */
	while (side->sent.count < packet->sequence_number)
		PUSH(side->sent, STACK_NONE);
	if (!asks_for_acknowledgement(packet)) {
		PUSH(side->sent, STACK_NONE);
		return;
	}
	PUSH(side->sent, side->now);
	report(side, (struct stack_report){ STACK_SENT, { .sent = { side->now, packet->sequence_number,
			(uint16_t)(packet->length + packet->checksum_overhead) } } });
}

/* The Makefile calls it in the place of `picoquic_dequeue_retransmit_packet` where an acknowledgement is read. */
picoquic_packet_t *on_acknowledged(picoquic_cnx_t *connection, picoquic_packet_context_t *context,
				   picoquic_packet_t *packet, int frees, int repeats)
{
	struct stack_side *side = current;
	uint64_t at = sent_at(side, packet->sequence_number);
	if (side->ledger.report && packet->pc == picoquic_packet_context_application && at != STACK_NONE) {
		side->acknowledged += packet->length + packet->checksum_overhead;
		report(side, (struct stack_report){ STACK_PACKET_ACKNOWLEDGED, { .acknowledged = { side->now, at,
				packet->sequence_number } } });
	}
	return picoquic_dequeue_retransmit_packet(connection, context, packet, frees, repeats);
}

/* All packets of the acknowledgement were reported. */
static void end_acknowledgement(struct stack_side *side, const picoquic_path_t *path)
{
	bool limited = path->bytes_in_transit + side->acknowledged + side->settings.packet_size < path->cwin;
	if (side->acknowledged)
		report(side, (struct stack_report){ STACK_ACKNOWLEDGEMENT_ENDS, { .ends = { side->now, limited } } });
	side->acknowledged = 0;
}

void end_event(struct stack_side *side)
{
	if (!side->ledger.report)
		return;
	if (side->has_event)
		report_with(side, side->event, side->before);
	side->has_event = false;
	report(side, (struct stack_report){ .kind = STACK_DECIDED });
}

/* Packets are deemed lost one after another, and the controller may answer each. */
static void on_lost(struct stack_side *side, const picoquic_per_ack_state_t *state, bool timeout)
{
	uint64_t at = sent_at(side, state->lost_packet_number);
	if (state->pc != picoquic_packet_context_application || at == STACK_NONE)
		return;
	if (!side->has_event) {
		side->has_event = true;
		side->before = decisions(side);
		side->event = (struct stack_report){ .kind = STACK_CONGESTION };
	}
	report_with(side, (struct stack_report){ STACK_PACKET_LOST, { .lost = { side->now, state->lost_packet_number,
			(uint16_t)(state->nb_bytes_newly_lost + TAG) } } }, side->before);
	side->event.congestion.now = side->now;
	if (side->event.congestion.sent < at)
		side->event.congestion.sent = at;
	side->event.congestion.persistent |= timeout;
}

static void on_mark(struct stack_side *side, const picoquic_per_ack_state_t *state)
{
	uint64_t at = sent_at(side, state->lost_packet_number);
	end_event(side);
	report(side, (struct stack_report){ STACK_CONGESTION, { .congestion = { side->now,
			at == STACK_NONE ? side->now : at, false, true } } });
}

static void on_notification(picoquic_cnx_t *connection, picoquic_path_t *path, picoquic_congestion_notification_t kind,
			    picoquic_per_ack_state_t *state, uint64_t now)
{
	struct stack_side *side = current;
	uint64_t window = path->cwin;
	switch (kind) {
	case picoquic_congestion_notification_acknowledgement:
		end_acknowledgement(side, path);
		end_event(side);
		break;
	case picoquic_congestion_notification_repeat:
	case picoquic_congestion_notification_timeout:
		end_acknowledgement(side, path);
		on_lost(side, state, kind == picoquic_congestion_notification_timeout);
		break;
	case picoquic_congestion_notification_ecn_ec:
		end_acknowledgement(side, path);
		on_mark(side, state);
		break;
	default:
		break;
	}
	side->controller->alg_notify(connection, path, kind, state, now);
	/* Not every packet that was lost too early has the controller undo its reduction. */
	if (kind == picoquic_congestion_notification_spurious_repeat && path->cwin > window)
		report(side, (struct stack_report){ .kind = STACK_SPURIOUS });
	if (kind != picoquic_congestion_notification_repeat && kind != picoquic_congestion_notification_timeout)
		report(side, (struct stack_report){ .kind = STACK_DECIDED });
}

void observe(struct stack_side *side)
{
	side->observed = *side->controller;
	side->observed.alg_notify = on_notification;
}
