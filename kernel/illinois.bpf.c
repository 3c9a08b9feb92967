// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP-Illinois (Liu, Basar and Srikant 2008) of any order. Rules and differences: illinois.h.
 */
#define ORDER 1
#define FORM power
#include "illinois.h"

ILLINOIS("ack_illinois");
