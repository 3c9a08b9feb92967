// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP-C (Edwan 2010, chapter 6): TCP-Illinois with the third power of the delay. Rules and differences: illinois.h.
 */
#define ORDER 3
#define FORM power
#include "illinois.h"

ILLINOIS("ack_tcp_c");
