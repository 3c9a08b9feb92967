// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP-Q (Edwan 2010, chapter 6): TCP-Illinois with the square of the delay. Rules and differences: illinois.h.
 */
#define ORDER 2
#define FORM power
#include "illinois.h"

ILLINOIS("ack_tcp_q");
