"""Functions that are in small indexes."""

MEDIAN = '''def median_of_values(values):
    """The middle of the values."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
'''
GRAPH = """def shortest_path(graph, start, goal):
    queue, seen = [(0, start, [])], set()
    while queue:
        cost, node, path = heappop(queue)
        if node == goal:
            return cost, path + [node]
        if node not in seen:
            seen.add(node)
            for neighbour, weight in graph[node].items():
                heappush(queue, (cost + weight, neighbour, path + [node]))
    raise ValueError(f"{goal} cannot be reached from {start}")
"""

SHARE_OF = """def share_of(basket, total):
    shares = {}
    for item, price in sorted(basket.items()):
        if price <= 0:
            raise ValueError(f'no price: {item}')
        shares[item] = round(price / total, 3)
    return [key for key, share in shares.items() if share > 0.25]
"""
"""A function of eight lines that a corpus holds."""

FENCE = """def fence(points, width):
    posts, gaps = [], 0
    while points:
        first = points.pop()
        posts.append((first - width) // 2 + len(posts))
        gaps += first % 7 if first else width ** 2
    return posts, gaps
"""
"""Another one."""
