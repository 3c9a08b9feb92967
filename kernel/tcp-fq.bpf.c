// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP-Fq (Edwan 2010, chapter 6): TCP-Illinois with the square of the delay in the decrease alone.
 * Rules and differences: illinois.h.
 */
#define ORDER 1
#define FORM fq
#include "illinois.h"

ILLINOIS("ack_tcp_fq");
