/* SPDX-License-Identifier: MIT */
/*
 * The routines of MPI that send, receive, wait, synchronize or do I/O: name, in C and in Fortran,
 * what they move, and their arguments, one letter each:
 *
 *	c t	count and datatype
 *	C T	the same of what is received, where both are there
 *	v V	counts, one for each rank
 *	W	datatypes, one for each rank
 *	> <	rank that is sent to, that is received from
 *	^	root
 *	m	communicator
 *	.	anything else
 *
 * Arguments that MPI_IN_PLACE or being no root makes void have no letter, but for those that
 * MPI_GATHER and MPI_SCATTER choose from.
 *
 * From the MPI standard, version 4.0, annex A.3.
 */
#pragma once

enum mpi_moves {
	MPI_NOTHING,
	MPI_ONE,    /* count elements */
	MPI_TWICE,  /* count elements are sent, and as many received */
	MPI_BOTH,   /* what is sent, and what is received */
	MPI_ALL,    /* what is received, from each rank */
	MPI_ALL_V,  /* the same, of which each has a count of its own */
	MPI_ALL_W,  /* and a datatype */
	MPI_GATHER, /* root: what is received from each rank; others: what is sent */
	MPI_GATHER_V,
	MPI_SCATTER, /* root: what is sent to each rank; others: what is received */
	MPI_SCATTER_V
};

/* Each is there a second time, with a request at its end: what does not wait. */
#define MPI_COLLECTIVES(X)                                                                         \
	X(Barrier, barrier, MPI_NOTHING, "m")                                                      \
	X(Bcast, bcast, MPI_ONE, ".ct^m")                                                          \
	X(Gather, gather, MPI_GATHER, ".ct.CT^m")                                                  \
	X(Gatherv, gatherv, MPI_GATHER_V, ".ct.V.T^m")                                             \
	X(Scatter, scatter, MPI_SCATTER, ".ct.CT^m")                                               \
	X(Scatterv, scatterv, MPI_SCATTER_V, ".v.t.CT^m")                                          \
	X(Allgather, allgather, MPI_ALL, "....CTm")                                                \
	X(Allgatherv, allgatherv, MPI_ALL_V, "....V.Tm")                                           \
	X(Alltoall, alltoall, MPI_ALL, "....CTm")                                                  \
	X(Alltoallv, alltoallv, MPI_ALL_V, ".....V.Tm")                                            \
	X(Alltoallw, alltoallw, MPI_ALL_W, ".....V.Wm")                                            \
	X(Reduce, reduce, MPI_ONE, "..ct.^m")                                                      \
	X(Allreduce, allreduce, MPI_ONE, "..ct.m")                                                 \
	X(Reduce_scatter, reduce_scatter, MPI_ALL_V, "..VT.m")                                     \
	X(Reduce_scatter_block, reduce_scatter_block, MPI_ALL, "..CT.m")                           \
	X(Scan, scan, MPI_ONE, "..ct.m")                                                           \
	X(Exscan, exscan, MPI_ONE, "..ct.m")                                                       \
	X(Neighbor_allgather, neighbor_allgather, MPI_NOTHING, "......m")                          \
	X(Neighbor_allgatherv, neighbor_allgatherv, MPI_NOTHING, ".......m")                       \
	X(Neighbor_alltoall, neighbor_alltoall, MPI_NOTHING, "......m")                            \
	X(Neighbor_alltoallv, neighbor_alltoallv, MPI_NOTHING, "........m")                        \
	X(Neighbor_alltoallw, neighbor_alltoallw, MPI_NOTHING, "........m")

#define MPI_REQUESTS(X)                                                                            \
	X(Ibarrier, ibarrier, MPI_NOTHING, "m.")                                                   \
	X(Ibcast, ibcast, MPI_ONE, ".ct^m.")                                                       \
	X(Igather, igather, MPI_GATHER, ".ct.CT^m.")                                               \
	X(Igatherv, igatherv, MPI_GATHER_V, ".ct.V.T^m.")                                          \
	X(Iscatter, iscatter, MPI_SCATTER, ".ct.CT^m.")                                            \
	X(Iscatterv, iscatterv, MPI_SCATTER_V, ".v.t.CT^m.")                                       \
	X(Iallgather, iallgather, MPI_ALL, "....CTm.")                                             \
	X(Iallgatherv, iallgatherv, MPI_ALL_V, "....V.Tm.")                                        \
	X(Ialltoall, ialltoall, MPI_ALL, "....CTm.")                                               \
	X(Ialltoallv, ialltoallv, MPI_ALL_V, ".....V.Tm.")                                         \
	X(Ialltoallw, ialltoallw, MPI_ALL_W, ".....V.Wm.")                                         \
	X(Ireduce, ireduce, MPI_ONE, "..ct.^m.")                                                   \
	X(Iallreduce, iallreduce, MPI_ONE, "..ct.m.")                                              \
	X(Ireduce_scatter, ireduce_scatter, MPI_ALL_V, "..VT.m.")                                  \
	X(Ireduce_scatter_block, ireduce_scatter_block, MPI_ALL, "..CT.m.")                        \
	X(Iscan, iscan, MPI_ONE, "..ct.m.")                                                        \
	X(Iexscan, iexscan, MPI_ONE, "..ct.m.")                                                    \
	X(Ineighbor_allgather, ineighbor_allgather, MPI_NOTHING, "......m.")                       \
	X(Ineighbor_allgatherv, ineighbor_allgatherv, MPI_NOTHING, ".......m.")                    \
	X(Ineighbor_alltoall, ineighbor_alltoall, MPI_NOTHING, "......m.")                         \
	X(Ineighbor_alltoallv, ineighbor_alltoallv, MPI_NOTHING, "........m.")                     \
	X(Ineighbor_alltoallw, ineighbor_alltoallw, MPI_NOTHING, "........m.")

#define MPI_OTHERS(X)                                                                              \
	X(Send, send, MPI_ONE, ".ct>.m")                                                           \
	X(Bsend, bsend, MPI_ONE, ".ct>.m")                                                         \
	X(Ssend, ssend, MPI_ONE, ".ct>.m")                                                         \
	X(Rsend, rsend, MPI_ONE, ".ct>.m")                                                         \
	X(Isend, isend, MPI_ONE, ".ct>.m.")                                                        \
	X(Ibsend, ibsend, MPI_ONE, ".ct>.m.")                                                      \
	X(Issend, issend, MPI_ONE, ".ct>.m.")                                                      \
	X(Irsend, irsend, MPI_ONE, ".ct>.m.")                                                      \
	X(Recv, recv, MPI_ONE, ".ct<.m.")                                                          \
	X(Irecv, irecv, MPI_ONE, ".ct<.m.")                                                        \
	X(Sendrecv, sendrecv, MPI_BOTH, ".ct>..CT<.m.")                                            \
	X(Isendrecv, isendrecv, MPI_BOTH, ".ct>..CT<.m.")                                          \
	X(Sendrecv_replace, sendrecv_replace, MPI_TWICE, ".ct>.<.m.")                              \
	X(Isendrecv_replace, isendrecv_replace, MPI_TWICE, ".ct>.<.m.")                            \
	X(Probe, probe, MPI_NOTHING, "<.m.")                                                       \
	X(Iprobe, iprobe, MPI_NOTHING, "<.m..")                                                    \
	X(Mprobe, mprobe, MPI_NOTHING, "<.m..")                                                    \
	X(Improbe, improbe, MPI_NOTHING, "<.m...")                                                 \
	X(Mrecv, mrecv, MPI_ONE, ".ct..")                                                          \
	X(Imrecv, imrecv, MPI_ONE, ".ct..")                                                        \
	X(Start, start, MPI_NOTHING, ".")                                                          \
	X(Startall, startall, MPI_NOTHING, "..")                                                   \
	X(Wait, wait, MPI_NOTHING, "..")                                                           \
	X(Waitall, waitall, MPI_NOTHING, "...")                                                    \
	X(Waitany, waitany, MPI_NOTHING, "....")                                                   \
	X(Waitsome, waitsome, MPI_NOTHING, ".....")                                                \
	X(Test, test, MPI_NOTHING, "...")                                                          \
	X(Testall, testall, MPI_NOTHING, "....")                                                   \
	X(Testany, testany, MPI_NOTHING, ".....")                                                  \
	X(Testsome, testsome, MPI_NOTHING, ".....")                                                \
	X(Buffer_detach, buffer_detach, MPI_NOTHING, "..")                                         \
	X(Init, init, MPI_NOTHING, "..")                                                           \
	X(Init_thread, init_thread, MPI_NOTHING, "....")                                           \
	X(Finalize, finalize, MPI_NOTHING, "")                                                     \
	X(Comm_dup, comm_dup, MPI_NOTHING, "m.")                                                   \
	X(Comm_split, comm_split, MPI_NOTHING, "m...")                                             \
	X(Comm_split_type, comm_split_type, MPI_NOTHING, "m....")                                  \
	X(Comm_create, comm_create, MPI_NOTHING, "m..")                                            \
	X(Comm_create_group, comm_create_group, MPI_NOTHING, "....")                               \
	X(Comm_free, comm_free, MPI_NOTHING, ".")                                                  \
	X(Comm_disconnect, comm_disconnect, MPI_NOTHING, ".")                                      \
	X(Comm_spawn, comm_spawn, MPI_NOTHING, "........")                                         \
	X(Comm_accept, comm_accept, MPI_NOTHING, ".....")                                          \
	X(Comm_connect, comm_connect, MPI_NOTHING, ".....")                                        \
	X(Intercomm_create, intercomm_create, MPI_NOTHING, "......")                               \
	X(Intercomm_merge, intercomm_merge, MPI_NOTHING, "...")                                    \
	X(Cart_create, cart_create, MPI_NOTHING, "m.....")                                         \
	X(Dist_graph_create, dist_graph_create, MPI_NOTHING, "m........")                          \
	X(Dist_graph_create_adjacent, dist_graph_create_adjacent, MPI_NOTHING, "m.........")       \
	X(Put, put, MPI_ONE, ".ct>....")                                                           \
	X(Get, get, MPI_ONE, ".ct<....")                                                           \
	X(Rput, rput, MPI_ONE, ".ct>.....")                                                        \
	X(Rget, rget, MPI_ONE, ".ct<.....")                                                        \
	X(Accumulate, accumulate, MPI_ONE, ".ct>.....")                                            \
	X(Raccumulate, raccumulate, MPI_ONE, ".ct>......")                                         \
	X(Get_accumulate, get_accumulate, MPI_ONE, "....ct>.....")                                 \
	X(Rget_accumulate, rget_accumulate, MPI_ONE, "....ct>......")                              \
	X(Fetch_and_op, fetch_and_op, MPI_NOTHING, "...>...")                                      \
	X(Compare_and_swap, compare_and_swap, MPI_NOTHING, "....>..")                              \
	X(Win_create, win_create, MPI_NOTHING, "....m.")                                           \
	X(Win_allocate, win_allocate, MPI_NOTHING, "...m..")                                       \
	X(Win_allocate_shared, win_allocate_shared, MPI_NOTHING, "...m..")                         \
	X(Win_create_dynamic, win_create_dynamic, MPI_NOTHING, ".m.")                              \
	X(Win_free, win_free, MPI_NOTHING, ".")                                                    \
	X(Win_fence, win_fence, MPI_NOTHING, "..")                                                 \
	X(Win_start, win_start, MPI_NOTHING, "...")                                                \
	X(Win_post, win_post, MPI_NOTHING, "...")                                                  \
	X(Win_complete, win_complete, MPI_NOTHING, ".")                                            \
	X(Win_wait, win_wait, MPI_NOTHING, ".")                                                    \
	X(Win_test, win_test, MPI_NOTHING, "..")                                                   \
	X(Win_lock, win_lock, MPI_NOTHING, ".>..")                                                 \
	X(Win_unlock, win_unlock, MPI_NOTHING, ">.")                                               \
	X(Win_flush, win_flush, MPI_NOTHING, ">.")                                                 \
	X(Win_flush_local, win_flush_local, MPI_NOTHING, ">.")                                     \
	X(Win_lock_all, win_lock_all, MPI_NOTHING, "..")                                           \
	X(Win_unlock_all, win_unlock_all, MPI_NOTHING, ".")                                        \
	X(Win_flush_all, win_flush_all, MPI_NOTHING, ".")                                          \
	X(Win_flush_local_all, win_flush_local_all, MPI_NOTHING, ".")                              \
	X(Win_sync, win_sync, MPI_NOTHING, ".")                                                    \
	X(File_open, file_open, MPI_NOTHING, "m....")                                              \
	X(File_close, file_close, MPI_NOTHING, ".")                                                \
	X(File_sync, file_sync, MPI_NOTHING, ".")                                                  \
	X(File_set_view, file_set_view, MPI_NOTHING, "......")                                     \
	X(File_set_size, file_set_size, MPI_NOTHING, "..")                                         \
	X(File_preallocate, file_preallocate, MPI_NOTHING, "..")                                   \
	X(File_read, file_read, MPI_ONE, "..ct.")                                                  \
	X(File_write, file_write, MPI_ONE, "..ct.")                                                \
	X(File_read_all, file_read_all, MPI_ONE, "..ct.")                                          \
	X(File_write_all, file_write_all, MPI_ONE, "..ct.")                                        \
	X(File_read_shared, file_read_shared, MPI_ONE, "..ct.")                                    \
	X(File_write_shared, file_write_shared, MPI_ONE, "..ct.")                                  \
	X(File_read_ordered, file_read_ordered, MPI_ONE, "..ct.")                                  \
	X(File_write_ordered, file_write_ordered, MPI_ONE, "..ct.")                                \
	X(File_iread, file_iread, MPI_ONE, "..ct.")                                                \
	X(File_iwrite, file_iwrite, MPI_ONE, "..ct.")                                              \
	X(File_iread_all, file_iread_all, MPI_ONE, "..ct.")                                        \
	X(File_iwrite_all, file_iwrite_all, MPI_ONE, "..ct.")                                      \
	X(File_iread_shared, file_iread_shared, MPI_ONE, "..ct.")                                  \
	X(File_iwrite_shared, file_iwrite_shared, MPI_ONE, "..ct.")                                \
	X(File_read_at, file_read_at, MPI_ONE, "...ct.")                                           \
	X(File_write_at, file_write_at, MPI_ONE, "...ct.")                                         \
	X(File_read_at_all, file_read_at_all, MPI_ONE, "...ct.")                                   \
	X(File_write_at_all, file_write_at_all, MPI_ONE, "...ct.")                                 \
	X(File_iread_at, file_iread_at, MPI_ONE, "...ct.")                                         \
	X(File_iwrite_at, file_iwrite_at, MPI_ONE, "...ct.")                                       \
	X(File_iread_at_all, file_iread_at_all, MPI_ONE, "...ct.")                                 \
	X(File_iwrite_at_all, file_iwrite_at_all, MPI_ONE, "...ct.")
