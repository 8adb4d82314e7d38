"""Names that the standard libraries of C and C++ declare. They are long lists, so they stand apart from the table.

A new name must not be one of them. A function of a text that has such a name keeps it: which of the two a call means
depends on the headers.
"""

# ruff: noqa: SIM905  lists of words read best as words

C_LIBRARY = frozenset(
    """
    isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower
    toupper isascii toascii acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 exp10
    expm1 frexp ilogb ldexp log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc
    lgamma tgamma gamma ceil floor nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo
    copysign nan nextafter nexttoward fdim fmax fmin fma fpclassify isfinite isinf isnan isnormal signbit drem
    significand j0 j1 jn y0 y1 yn finite scalb pow10
    remove rename tmpfile tmpnam fclose fflush fopen freopen setbuf setvbuf fprintf fscanf printf scanf snprintf
    sprintf sscanf vfprintf vprintf vsprintf fgetc fgets fputc fputs getc getchar gets putc putchar puts ungetc
    fread fwrite fgetpos fseek fsetpos ftell rewind clearerr feof ferror perror getline getdelim popen pclose
    fileno dprintf
    atof atoi atol atoll strtod strtof strtol strtoll strtoul strtoull rand srand random srandom calloc free
    malloc realloc abort atexit exit getenv setenv putenv system bsearch qsort abs labs llabs div ldiv lldiv
    mblen mbtowc wctomb memcpy memmove memset memcmp memchr strcpy strncpy strcat strncat strcmp strcoll strncmp
    strxfrm strchr strcspn strpbrk strrchr strspn strstr strtok strerror strlen strnlen strdup strndup strsep
    strcasecmp strncasecmp index rindex bcopy bcmp bzero ffs basename swab stpcpy strsignal mktemp mkstemp
    realpath alloca drand48 lrand48 mrand48 initstate setstate getsubopt select reallocarray
    clock difftime mktime time asctime ctime gmtime localtime strftime signal raise kill alarm pause sleep usleep
    access acct brk chdir chown close confstr crypt dup execl execv fork getcwd getopt getpid isatty link lseek
    nice open pathconf pipe read readlink rmdir sbrk stat fstat lstat symlink sync truncate ttyname unlink vfork
    write wait creat fcntl umask mkdir mount bind accept connect listen send recv socket shutdown poll daemon
    profil encrypt lockf optarg optind opterr optopt timezone daylight tzname stime dysize nanosleep
    setjmp longjmp major minor makedev
    """.split()
)
"""ctype, math, stdio, stdlib, string, time, signal, unistd and related headers."""

CPP_LIBRARY = frozenset(
    """
    adjacent_find all_of any_of none_of binary_search clamp copy copy_if copy_n count count_if equal equal_range
    exclusive_scan inclusive_scan fill fill_n find find_end find_first_of find_if find_if_not for_each generate
    includes inplace_merge is_heap is_partitioned is_permutation is_sorted iter_swap lexicographical_compare
    lower_bound upper_bound make_heap max max_element merge min min_element minmax minmax_element mismatch move
    next_permutation prev_permutation nth_element partial_sort partition partition_point pop_heap push_heap
    remove remove_if replace replace_if reverse rotate sample search search_n set_difference set_intersection
    set_union shift_left shift_right shuffle random_shuffle sort sort_heap stable_sort stable_partition
    swap swap_ranges transform unique accumulate adjacent_difference gcd lcm inner_product iota midpoint
    partial_sum reduce transform_reduce
    array vector deque list forward_list set multiset map multimap unordered_set unordered_map stack queue
    priority_queue span string wstring string_view basic_string pair tuple bitset valarray begin end cbegin cend
    rbegin rend size ssize empty data advance distance next prev inserter back_inserter front_inserter iterator
    reverse_iterator ranges views greater less greater_equal less_equal equal_to not_equal_to plus minus
    multiplies divides modulus negate logical_and logical_or logical_not bit_and bit_or bit_xor hash
    forward exchange declval make_pair make_tuple tie get apply visit optional variant any function bind ref cref
    invoke unique_ptr shared_ptr weak_ptr make_unique make_shared allocator addressof launder byte monostate
    nullopt in_place as_const to_string stoi stol stoll stoul stof stod to_chars from_chars getline is_same
    conditional enable_if decay common_type rank extent align void_t true_type false_type ratio chrono
    placeholders literals filesystem numeric_limits initializer_list complex real imag arg norm conj proj polar
    beta expint legendre laguerre hermite riemann_zeta lerp
    cin cout cerr clog endl ends flush hex dec oct fixed scientific boolalpha setw setprecision setfill left
    right internal showpoint showpos skipws ws unitbuf uppercase locale ctype stringstream istringstream
    ostringstream fstream ifstream ofstream istream ostream ios streambuf format print println
    exception error_code error_condition system_error terminate unexpected invalid_argument out_of_range
    runtime_error logic_error domain_error length_error range_error overflow_error underflow_error bad_alloc
    nothrow rethrow_exception
    thread mutex lock try_lock lock_guard unique_lock async future promise launch atomic barrier latch
    condition_variable call_once once_flag defer_lock this_thread yield random_device mt19937 seed_seq regex
    smatch cmatch regex_match regex_search source_location type_index type_info coroutine_handle suspend_always
    strong_order weak_order partial_order hash_value to_json from_json PrintTo
    """.split()
)
"""algorithm, numeric, containers, iterators, ranges, utility, memory, streams, errors, threads, random, regex."""
