"""Two functions that are in the small index."""

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
