/* Reports, from the functions of the controller. These and the congestion state are in headers that are not public, so
 * another version may need changes here. */
#ifndef REPORTS_H
#define REPORTS_H

#include "side.h"

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

/* Wraps the functions of the controller. */
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

#endif
