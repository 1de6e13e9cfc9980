/* SPDX-License-Identifier: MIT */
/*
 * The routines of BLAS and LAPACK: name, level, and arguments.
 *
 * Arguments are those of Fortran, one letter each. From them follow the forms
 * of C: CBLAS has the order in front (but for level 1), LAPACKE the layout; both pass numbers by
 * value.
 *
 *	N  dimension: part of the shape, in this order
 *	S  side, a character: the shape ends with the first dimension for 'L', the second for 'R'
 *	t  other character, with a hidden length in Fortran
 *	i  other integer
 *	a  array, or anything that is a pointer in all forms
 *	s  number of the routine's own type; CBLAS passes complex ones by a pointer
 *	r  real number
 *	f  function
 *	w  work space that LAPACKE makes by itself, if not told otherwise (_work)
 *	l  its size
 *	e  only in LAPACKE, and not in _work
 *	o  Fortran's info
 *
 * Not here: BLAS 1 without arithmetic (copy, swap) or on two numbers (rotg).
 * NumPy calls dcopy for each row of each matrix that it hands to LAPACK; as ops
 * they made numpy.linalg.solve() of 50 x 50 numbers a third slower.
 *
 * From LAPACK's reference implementation 3.11; a test compares with its headers.
 */
#pragma once

enum blas_level {
	BLAS_1,
	BLAS_2,
	BLAS_3,
	LAPACK
};

#define SD(X, level, name, arguments)                                                              \
	X(s##name, level, true, arguments) X(d##name, level, true, arguments)
#define CZ(X, level, name, arguments)                                                              \
	X(c##name, level, false, arguments) X(z##name, level, false, arguments)
#define SDCZ(X, level, name, arguments) SD(X, level, name, arguments) CZ(X, level, name, arguments)

#define BLAS_ROUTINES(X)                                                                           \
	SD(X, BLAS_1, rot, "Naiairr")                                                              \
	SD(X, BLAS_1, rotm, "Naiaia")                                                              \
	SDCZ(X, BLAS_1, scal, "Nsai")                                                              \
	SDCZ(X, BLAS_1, axpy, "Nsaiai")                                                            \
	SDCZ(X, BLAS_1, axpby, "Nsaisai")                                                          \
	SD(X, BLAS_1, dot, "Naiai")                                                                \
	SD(X, BLAS_1, nrm2, "Nai")                                                                 \
	SD(X, BLAS_1, asum, "Nai")                                                                 \
	X(csrot, BLAS_1, true, "Naiairr")                                                          \
	X(zdrot, BLAS_1, true, "Naiairr")                                                          \
	X(csscal, BLAS_1, true, "Nrai")                                                            \
	X(zdscal, BLAS_1, true, "Nrai")                                                            \
	X(dsdot, BLAS_1, true, "Naiai")                                                            \
	X(sdsdot, BLAS_1, true, "Nraiai")                                                          \
	X(scnrm2, BLAS_1, true, "Nai")                                                             \
	X(dznrm2, BLAS_1, true, "Nai")                                                             \
	X(scasum, BLAS_1, true, "Nai")                                                             \
	X(dzasum, BLAS_1, true, "Nai")                                                             \
	X(isamax, BLAS_1, true, "Nai")                                                             \
	X(idamax, BLAS_1, true, "Nai")                                                             \
	X(icamax, BLAS_1, true, "Nai")                                                             \
	X(izamax, BLAS_1, true, "Nai")                                                             \
	X(isamin, BLAS_1, true, "Nai")                                                             \
	X(idamin, BLAS_1, true, "Nai")                                                             \
	X(icamin, BLAS_1, true, "Nai")                                                             \
	X(izamin, BLAS_1, true, "Nai")                                                             \
	SDCZ(X, BLAS_2, gemv, "tNNsaiaisai")                                                       \
	SDCZ(X, BLAS_2, gbmv, "tNNNNsaiaisai")                                                     \
	SD(X, BLAS_2, symv, "tNsaiaisai")                                                          \
	CZ(X, BLAS_2, hemv, "tNsaiaisai")                                                          \
	SD(X, BLAS_2, sbmv, "tNNsaiaisai")                                                         \
	CZ(X, BLAS_2, hbmv, "tNNsaiaisai")                                                         \
	SD(X, BLAS_2, spmv, "tNsaaisai")                                                           \
	CZ(X, BLAS_2, hpmv, "tNsaaisai")                                                           \
	SDCZ(X, BLAS_2, trmv, "tttNaiai")                                                          \
	SDCZ(X, BLAS_2, trsv, "tttNaiai")                                                          \
	SDCZ(X, BLAS_2, tbmv, "tttNNaiai")                                                         \
	SDCZ(X, BLAS_2, tbsv, "tttNNaiai")                                                         \
	SDCZ(X, BLAS_2, tpmv, "tttNaai")                                                           \
	SDCZ(X, BLAS_2, tpsv, "tttNaai")                                                           \
	SD(X, BLAS_2, ger, "NNsaiaiai")                                                            \
	CZ(X, BLAS_2, geru, "NNsaiaiai")                                                           \
	CZ(X, BLAS_2, gerc, "NNsaiaiai")                                                           \
	SD(X, BLAS_2, syr, "tNsaiai")                                                              \
	CZ(X, BLAS_2, her, "tNraiai")                                                              \
	SD(X, BLAS_2, spr, "tNsaia")                                                               \
	CZ(X, BLAS_2, hpr, "tNraia")                                                               \
	SD(X, BLAS_2, syr2, "tNsaiaiai")                                                           \
	CZ(X, BLAS_2, her2, "tNsaiaiai")                                                           \
	SD(X, BLAS_2, spr2, "tNsaiaia")                                                            \
	CZ(X, BLAS_2, hpr2, "tNsaiaia")                                                            \
	SDCZ(X, BLAS_3, gemm, "ttNNNsaiaisai")                                                     \
	CZ(X, BLAS_3, gemm3m, "ttNNNsaiaisai")                                                     \
	SDCZ(X, BLAS_3, gemmt, "tttNNsaiaisai")                                                    \
	SDCZ(X, BLAS_3, gemmtr, "tttNNsaiaisai")                                                   \
	SDCZ(X, BLAS_3, symm, "StNNsaiaisai")                                                      \
	CZ(X, BLAS_3, hemm, "StNNsaiaisai")                                                        \
	SDCZ(X, BLAS_3, syrk, "ttNNsaisai")                                                        \
	CZ(X, BLAS_3, herk, "ttNNrairai")                                                          \
	SDCZ(X, BLAS_3, syr2k, "ttNNsaiaisai")                                                     \
	CZ(X, BLAS_3, her2k, "ttNNsaiairai")                                                       \
	SDCZ(X, BLAS_3, trmm, "StttNNsaiai")                                                       \
	SDCZ(X, BLAS_3, trsm, "StttNNsaiai")                                                       \
	SDCZ(X, BLAS_3, gemm_batch_strided, "ttNNNsaiiaiisaiiN")

/* Fortran alone. How complex results come back depends on the compiler (in registers, or behind
   a pointer in front), and with it where the size stands: it stays untold. */
#define BLAS_FORTRAN_ROUTINES(X)                                                                   \
	X(cdotu, BLAS_1, false, "aaaaaa")                                                          \
	X(cdotc, BLAS_1, false, "aaaaaa")                                                          \
	X(zdotu, BLAS_1, false, "aaaaaa")                                                          \
	X(zdotc, BLAS_1, false, "aaaaaa")

/* CBLAS alone. */
#define BLAS_C_ROUTINES(X)                                                                         \
	X(cdotu_sub, BLAS_1, false, "Naiaia")                                                      \
	X(cdotc_sub, BLAS_1, false, "Naiaia")                                                      \
	X(zdotu_sub, BLAS_1, false, "Naiaia")                                                      \
	X(zdotc_sub, BLAS_1, false, "Naiaia")                                                      \
	SDCZ(X, BLAS_3, gemm_batch, "aaaaaaaaaaaaaia")

#define LAPACK_ROUTINES(X)                                                                         \
	SDCZ(X, LAPACK, gesv, "NNaiaaio")                                                          \
	SDCZ(X, LAPACK, gesvx, "ttNNaiaiataaaiaiaaawweo")                                          \
	SDCZ(X, LAPACK, gbsv, "NNNNaiaaio")                                                        \
	SDCZ(X, LAPACK, gtsv, "NNaaaaio")                                                          \
	SDCZ(X, LAPACK, posv, "tNNaiaio")                                                          \
	SDCZ(X, LAPACK, posvx, "ttNNaiaitaaiaiaaawwo")                                             \
	SDCZ(X, LAPACK, ppsv, "tNNaaio")                                                           \
	SDCZ(X, LAPACK, pbsv, "tNNNaiaio")                                                         \
	SDCZ(X, LAPACK, ptsv, "NNaaaio")                                                           \
	SDCZ(X, LAPACK, sysv, "tNNaiaaiwlo")                                                       \
	CZ(X, LAPACK, hesv, "tNNaiaaiwlo")                                                         \
	SDCZ(X, LAPACK, spsv, "tNNaaaio")                                                          \
	SDCZ(X, LAPACK, getrf, "NNaiao")                                                           \
	SDCZ(X, LAPACK, getrf2, "NNaiao")                                                          \
	SDCZ(X, LAPACK, getrs, "tNNaiiaio")                                                        \
	SDCZ(X, LAPACK, getri, "Naiiwlo")                                                          \
	SDCZ(X, LAPACK, gecon, "tNaiaawwo")                                                        \
	SDCZ(X, LAPACK, gbtrf, "NNNNaiao")                                                         \
	SDCZ(X, LAPACK, gbtrs, "tNNNNaiiaio")                                                      \
	SDCZ(X, LAPACK, potrf, "tNaio")                                                            \
	SDCZ(X, LAPACK, potrf2, "tNaio")                                                           \
	SDCZ(X, LAPACK, potrs, "tNNaiaio")                                                         \
	SDCZ(X, LAPACK, potri, "tNaio")                                                            \
	SDCZ(X, LAPACK, pocon, "tNaiaawwo")                                                        \
	SDCZ(X, LAPACK, pbtrf, "tNNaio")                                                           \
	SDCZ(X, LAPACK, pbtrs, "tNNNaiaio")                                                        \
	SDCZ(X, LAPACK, pptrf, "tNao")                                                             \
	SDCZ(X, LAPACK, pptrs, "tNNaaio")                                                          \
	SDCZ(X, LAPACK, sytrf, "tNaiawlo")                                                         \
	CZ(X, LAPACK, hetrf, "tNaiawlo")                                                           \
	SDCZ(X, LAPACK, sytrs, "tNNaiiaio")                                                        \
	CZ(X, LAPACK, hetrs, "tNNaiiaio")                                                          \
	SDCZ(X, LAPACK, sytri, "tNaiiwo")                                                          \
	CZ(X, LAPACK, hetri, "tNaiiwo")                                                            \
	SDCZ(X, LAPACK, trtri, "ttNaio")                                                           \
	SDCZ(X, LAPACK, trtrs, "tttNNaiaio")                                                       \
	SDCZ(X, LAPACK, tbtrs, "tttNNNaiaio")                                                      \
	SDCZ(X, LAPACK, lauum, "tNaio")                                                            \
	SDCZ(X, LAPACK, geqrf, "NNaiawlo")                                                         \
	SDCZ(X, LAPACK, gelqf, "NNaiawlo")                                                         \
	SDCZ(X, LAPACK, geqlf, "NNaiawlo")                                                         \
	SDCZ(X, LAPACK, gerqf, "NNaiawlo")                                                         \
	SD(X, LAPACK, geqp3, "NNaiaawlo")                                                          \
	CZ(X, LAPACK, geqp3, "NNaiaawlwo")                                                         \
	SDCZ(X, LAPACK, geqrt, "NNiaiaiwo")                                                        \
	SD(X, LAPACK, orgqr, "NNNaiawlo")                                                          \
	CZ(X, LAPACK, ungqr, "NNNaiawlo")                                                          \
	SD(X, LAPACK, ormqr, "StNNNaiaaiwlo")                                                      \
	CZ(X, LAPACK, unmqr, "StNNNaiaaiwlo")                                                      \
	SD(X, LAPACK, orglq, "NNNaiawlo")                                                          \
	CZ(X, LAPACK, unglq, "NNNaiawlo")                                                          \
	SD(X, LAPACK, ormlq, "StNNNaiaaiwlo")                                                      \
	CZ(X, LAPACK, unmlq, "StNNNaiaaiwlo")                                                      \
	SDCZ(X, LAPACK, gels, "tNNNaiaiwlo")                                                       \
	SD(X, LAPACK, gelsd, "NNNaiaiaaawlwo")                                                     \
	CZ(X, LAPACK, gelsd, "NNNaiaiaaawlwwo")                                                    \
	SD(X, LAPACK, gelss, "NNNaiaiaaawlo")                                                      \
	CZ(X, LAPACK, gelss, "NNNaiaiaaawlwo")                                                     \
	SD(X, LAPACK, gelsy, "NNNaiaiaaawlo")                                                      \
	CZ(X, LAPACK, gelsy, "NNNaiaiaaawlwo")                                                     \
	SDCZ(X, LAPACK, gglse, "NNNaiaiaaawlo")                                                    \
	SDCZ(X, LAPACK, ggglm, "NNNaiaiaaawlo")                                                    \
	SD(X, LAPACK, gesvd, "ttNNaiaaiaiwleo")                                                    \
	CZ(X, LAPACK, gesvd, "ttNNaiaaiaiwlweo")                                                   \
	SD(X, LAPACK, gesdd, "tNNaiaaiaiwlwo")                                                     \
	CZ(X, LAPACK, gesdd, "tNNaiaaiaiwlwwo")                                                    \
	SDCZ(X, LAPACK, gebrd, "NNaiaaaawlo")                                                      \
	SD(X, LAPACK, orgbr, "tNNNaiawlo")                                                         \
	CZ(X, LAPACK, ungbr, "tNNNaiawlo")                                                         \
	SD(X, LAPACK, ormbr, "tStNNNaiaaiwlo")                                                     \
	CZ(X, LAPACK, unmbr, "tStNNNaiaaiwlo")                                                     \
	SDCZ(X, LAPACK, bdsqr, "tNiiiaaaiaiaiwo")                                                  \
	SD(X, LAPACK, bdsdc, "ttNaaaiaiaawwo")                                                     \
	SD(X, LAPACK, syev, "ttNaiawlo")                                                           \
	SD(X, LAPACK, syevd, "ttNaiawlwlo")                                                        \
	SD(X, LAPACK, syevr, "tttNaiaaiiaaaaiawlwlo")                                              \
	SD(X, LAPACK, syevx, "tttNaiaaiiaaaaiwlwao")                                               \
	CZ(X, LAPACK, heev, "ttNaiawlwo")                                                          \
	CZ(X, LAPACK, heevd, "ttNaiawlwlwlo")                                                      \
	CZ(X, LAPACK, heevr, "tttNaiaaiiaaaaiawlwlwlo")                                            \
	CZ(X, LAPACK, heevx, "tttNaiaaiiaaaaiwlwwao")                                              \
	SD(X, LAPACK, sygv, "ittNaiaiawlo")                                                        \
	SD(X, LAPACK, sygvd, "ittNaiaiawlwlo")                                                     \
	SD(X, LAPACK, sygvx, "itttNaiaiaaiiaaaaiwlwao")                                            \
	CZ(X, LAPACK, hegv, "ittNaiaiawlwo")                                                       \
	CZ(X, LAPACK, hegvd, "ittNaiaiawlwlwlo")                                                   \
	CZ(X, LAPACK, hegvx, "itttNaiaiaaiiaaaaiwlwwao")                                           \
	SD(X, LAPACK, sbev, "ttNNaiaaiwo")                                                         \
	CZ(X, LAPACK, hbev, "ttNNaiaaiwwo")                                                        \
	SD(X, LAPACK, spev, "ttNaaaiwo")                                                           \
	CZ(X, LAPACK, hpev, "ttNaaaiwwo")                                                          \
	SD(X, LAPACK, stev, "tNaaaiwo")                                                            \
	SD(X, LAPACK, stevd, "tNaaaiwlwlo")                                                        \
	SD(X, LAPACK, stevr, "ttNaaaaiiaaaaiawlwlo")                                               \
	SD(X, LAPACK, sytrd, "tNaiaaawlo")                                                         \
	CZ(X, LAPACK, hetrd, "tNaiaaawlo")                                                         \
	SD(X, LAPACK, orgtr, "tNaiawlo")                                                           \
	CZ(X, LAPACK, ungtr, "tNaiawlo")                                                           \
	SD(X, LAPACK, ormtr, "SttNNaiaaiwlo")                                                      \
	CZ(X, LAPACK, unmtr, "SttNNaiaaiwlo")                                                      \
	SDCZ(X, LAPACK, steqr, "tNaaaiwo")                                                         \
	SD(X, LAPACK, stedc, "tNaaaiwlwlo")                                                        \
	CZ(X, LAPACK, stedc, "tNaaaiwlwlwlo")                                                      \
	SDCZ(X, LAPACK, stemr, "ttNaaaaiiaaaiiaawlwlo")                                            \
	SD(X, LAPACK, geev, "ttNaiaaaiaiwlo")                                                      \
	CZ(X, LAPACK, geev, "ttNaiaaiaiwlwo")                                                      \
	SD(X, LAPACK, geevx, "ttttNaiaaaiaiaaaaaawlwo")                                            \
	CZ(X, LAPACK, geevx, "ttttNaiaaiaiaaaaaawlwo")                                             \
	SD(X, LAPACK, gees, "ttfNaiaaaaiwlwo")                                                     \
	CZ(X, LAPACK, gees, "ttfNaiaaaiwlwwo")                                                     \
	SD(X, LAPACK, geesx, "ttftNaiaaaaiaawlwlwo")                                               \
	CZ(X, LAPACK, geesx, "ttftNaiaaaiaawlwwo")                                                 \
	SDCZ(X, LAPACK, gehrd, "Niiaiawlo")                                                        \
	SD(X, LAPACK, orghr, "Niiaiawlo")                                                          \
	CZ(X, LAPACK, unghr, "Niiaiawlo")                                                          \
	SD(X, LAPACK, hseqr, "ttNiiaiaaaiwlo")                                                     \
	CZ(X, LAPACK, hseqr, "ttNiiaiaaiwlo")                                                      \
	SD(X, LAPACK, trevc, "StaNaiaiaiiawo")                                                     \
	CZ(X, LAPACK, trevc, "StaNaiaiaiiawwo")                                                    \
	SDCZ(X, LAPACK, gebal, "tNaiaaao")                                                         \
	SDCZ(X, LAPACK, gebak, "tSNiiaNaio")                                                       \
	SD(X, LAPACK, ggev, "ttNaiaiaaaaiaiwlo")                                                   \
	CZ(X, LAPACK, ggev, "ttNaiaiaaaiaiwlwo")                                                   \
	SD(X, LAPACK, ggevx, "ttttNaiaiaaaaiaiaaaaaaaawlwwo")                                      \
	CZ(X, LAPACK, ggevx, "ttttNaiaiaaaiaiaaaaaaaawlwwwo")                                      \
	SD(X, LAPACK, gges, "tttfNaiaiaaaaaiaiwlwo")                                               \
	CZ(X, LAPACK, gges, "tttfNaiaiaaaaiaiwlwwo")                                               \
	SDCZ(X, LAPACK, gghrd, "ttNiiaiaiaiaio")                                                   \
	SD(X, LAPACK, hgeqz, "tttNiiaiaiaaaaiaiwlo")                                               \
	CZ(X, LAPACK, hgeqz, "tttNiiaiaiaaaiaiwlwo")                                               \
	SDCZ(X, LAPACK, trsyl, "ttiNNaiaiaiao")                                                    \
	SDCZ(X, LAPACK, lange, "tNNaiw")                                                           \
	SDCZ(X, LAPACK, lansy, "ttNaiw")                                                           \
	CZ(X, LAPACK, lanhe, "ttNaiw")                                                             \
	SDCZ(X, LAPACK, lacpy, "tNNaiai")                                                          \
	SDCZ(X, LAPACK, laswp, "Naiiiii")
