//! The controllers: one file each, with a folder beside it where one file is not enough. A line here lists a controller
//! in the registry, too.

pub mod aimd;
pub mod bic;
pub mod card;
pub mod cdg;
pub mod compound;
pub mod cubic;
pub mod cubic_rfc;
pub mod da;
pub mod dual;
pub mod e_tcp;
pub mod fast;
pub mod gentle_1;
pub mod gentle_2;
pub mod hd;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod jk;
pub mod ledbat;
pub mod newreno;
pub mod nice;
pub mod pert;
pub mod relentless;
pub mod scalable;
pub mod siad;
pub mod tcp_c;
pub mod tcp_fq;
pub mod tcp_fs;
pub mod tcp_lp;
pub mod tcp_q;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod yeah;
